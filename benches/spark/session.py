"""The session that jobs are measured in."""

from pyspark.sql import SparkSession

from server_ng.spark.session import builder

__all__ = ["session"]


def session(master: str) -> SparkSession:
    """A session that shows nothing and has memory enough."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.sql.parquet.compression.codec": "zstd",
    }
    made = builder("benches", master)
    for name, value in settings.items():
        made = made.config(name, value)
    begun = made.getOrCreate()
    begun.sparkContext.setLogLevel("ERROR")
    return begun
