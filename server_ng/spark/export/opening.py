"""A table by its kind and name."""

from collections.abc import Mapping
from pathlib import Path

from server_ng.spark.errors import OptionError
from server_ng.spark.export.beside import WithDeadLetters
from server_ng.spark.export.partitioning import PartitionBy
from server_ng.spark.export.target import Target

__all__ = ["open_target"]

_DEAD_LETTERS = "_dead_letters"


def open_target(
    kind: str,
    name: str,
    catalog: Mapping[str, str],
    *,
    dead_letters: bool = False,
    partition_by: PartitionBy = PartitionBy.NOTHING,
) -> Target:
    """Ready to begin; only the library of this kind is imported."""
    if kind == "parquet":
        from server_ng.spark.export.parquet import ParquetTarget

        return ParquetTarget(Path(name), partition_by)
    if kind == "delta":
        from server_ng.spark.export.delta import DeltaTarget

        folder = Path(name)
        letters = DeltaTarget(folder.with_name(folder.name + _DEAD_LETTERS))
        return WithDeadLetters(DeltaTarget(folder, partition_by), letters, wanted=dead_letters)
    from pyiceberg.catalog import load_catalog

    from server_ng.spark.export.iceberg import IcebergTarget

    if not catalog:
        raise OptionError("Iceberg: name the catalog, as in --catalog uri=sqlite:////path/catalog.db")
    opened = load_catalog("server_ng", **catalog)
    rows = IcebergTarget(opened, name, partition_by)
    return WithDeadLetters(rows, IcebergTarget(opened, name + _DEAD_LETTERS), wanted=dead_letters)
