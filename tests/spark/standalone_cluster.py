"""A cluster of Spark on this machine, of the classes in the installed package: a master, and workers."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Self

import pyspark

from server_ng.spark.java import find_java
from tests.support.waiting import until

__all__ = ["StandaloneCluster"]

_HOME = Path(pyspark.__file__).parent
_SMALL = {
    "spark.executor.memory": "512m",
    "spark.executor.memoryOverhead": "384m",
    "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
}


class StandaloneCluster:
    """Started with the configuration that is shipped, made small."""

    def __init__(self, folder: Path, configuration: Path, workers: int) -> None:
        self._folder, self._workers = folder, workers
        self._processes: list[subprocess.Popen[bytes]] = []
        self.conf = folder / "conf"
        shutil.copytree(configuration, self.conf)
        with (self.conf / "spark-defaults.conf").open("a") as defaults:
            defaults.writelines(f"{name} {value}\n" for name, value in _SMALL.items())
        self.master = ""

    @property
    def environment(self) -> dict[str, str]:
        """Of a driver."""
        return {**os.environ, "SPARK_CONF_DIR": str(self.conf), "SPARK_HOME": str(_HOME)}

    def __enter__(self) -> Self:
        find_java()
        try:
            self.master = self._started("master", "Starting Spark master at (spark://\\S+)")
            for number in range(self._workers):
                self._started(f"worker-{number}", "Successfully registered with master (\\S+)")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            process.terminate()
            process.wait()

    def _started(self, name: str, says: str) -> str:
        kind = name.partition("-")[0]
        command = [
            str(_HOME / "bin" / "spark-class"),
            f"org.apache.spark.deploy.{kind}.{kind.title()}",
            *("--host", "127.0.0.1", "--port", "0", "--webui-port", "0"),
        ]
        if kind == "worker":
            command += ["--cores", "1", "--memory", "1g", "--work-dir", str(self._folder / name), self.master]
        log = self._folder / f"{name}.log"
        environment = {**self.environment, "SPARK_DAEMON_MEMORY": "256m"}
        with log.open("wb") as output:
            self._processes.append(
                subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
            )
        process = self._processes[-1]

        def ready() -> bool:
            assert process.poll() is None, log.read_text()
            return re.search(says, log.read_text()) is not None

        until(ready, f"{name} to say {says}")
        found = re.search(says, log.read_text())
        assert found is not None
        return found[1]
