"""A table by its kind and name."""

from collections.abc import Mapping
from pathlib import Path

from server_ng.spark.errors import OptionError
from server_ng.spark.export.target import Target

__all__ = ["open_target"]


def open_target(kind: str, name: str, catalog: Mapping[str, str], *, dead_letters: bool) -> Target:
    """Ready to begin; only the library of this kind is imported."""
    if dead_letters and kind != "parquet":
        raise OptionError("dead letters are kept beside tables of Parquet files alone")
    if kind == "parquet":
        from server_ng.spark.export.parquet import ParquetTarget

        return ParquetTarget(Path(name))
    if kind == "delta":
        from server_ng.spark.export.delta import DeltaTarget

        return DeltaTarget(Path(name))
    from pyiceberg.catalog import load_catalog

    from server_ng.spark.export.iceberg import IcebergTarget

    if not catalog:
        raise OptionError("Iceberg: name the catalog, as in --catalog uri=sqlite:////path/catalog.db")
    return IcebergTarget(load_catalog("server_ng", **catalog), name)
