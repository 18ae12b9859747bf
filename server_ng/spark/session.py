"""A Spark session with the settings that the source is fast and complete with."""

import os
import sys
from typing import Final

from pyspark.sql import SparkSession

from server_ng.spark.java import find_java

__all__ = ["SETTINGS", "builder"]

SETTINGS: Final = {
    # Without it Spark filters by itself what the source need not have read.
    "spark.sql.python.filterPushdown.enabled": "true",
    # A fifth of the time of a scan is spent in the loopback connection otherwise.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}


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
