"""A table by its kind and name."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from server_ng.spark.errors import OptionError
from server_ng.spark.export.beside import WithDeadLetters
from server_ng.spark.export.folder_kind import refuse_other_kind
from server_ng.spark.export.partitioning import PartitionBy
from server_ng.spark.export.target import Target

__all__ = ["catalog_of", "open_target"]

_DEAD_LETTERS: Final = "_dead_letters"
_CATALOG: Final = "server_ng"
_ENVIRONMENT: Final = "PYICEBERG_CATALOG__SERVER_NG__"
"""As pyiceberg names them; by itself it finds them for no catalog that has an underscore in its name."""


def catalog_of(file: Path | None, named: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The properties of a catalog: from variables, from a file, and from the command line, which wins."""
    found = {
        name.removeprefix(_ENVIRONMENT).lower().replace("__", ".").replace("_", "-"): value
        for name, value in os.environ.items()
        if name.startswith(_ENVIRONMENT)
    }
    try:
        lines = [] if file is None else file.read_text().splitlines()
    except OSError as error:
        raise OptionError(f"{file} cannot be read: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        name, equals, value = line.partition("=")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not equals:
            # The line may be a secret.
            raise OptionError(f"{file}: line {number} is not NAME=VALUE")
        found[name.strip()] = value.strip()
    return {**found, **dict(named)}


def open_target(
    kind: str,
    name: str,
    catalog: Mapping[str, str],
    *,
    dead_letters: bool = False,
    partition_by: PartitionBy = PartitionBy.NOTHING,
) -> Target:
    """Ready to begin; raises `OptionError` for a table of another kind.

    Only the library of the wanted kind is imported.
    """
    folder = Path(name)
    if kind == "parquet":
        from server_ng.spark.export.parquet import ParquetTarget

        refuse_other_kind(folder, kind)
        return ParquetTarget(folder, partition_by)
    if kind == "delta":
        from server_ng.spark.export.delta import DeltaTarget

        beside = folder.with_name(folder.name + _DEAD_LETTERS)
        for made in (folder, beside) if dead_letters else (folder,):
            refuse_other_kind(made, kind)
        return WithDeadLetters(DeltaTarget(folder, partition_by), DeltaTarget(beside), wanted=dead_letters)
    from pyiceberg.catalog import load_catalog

    from server_ng.spark.export.iceberg import IcebergTarget

    if not catalog:
        raise OptionError(
            "Iceberg: name the catalog, as in --catalog uri=sqlite:////path/catalog.db, in --catalog-file, "
            f"or in variables as {_ENVIRONMENT}URI"
        )
    opened = load_catalog(_CATALOG, **catalog)
    rows = IcebergTarget(opened, name, partition_by)
    return WithDeadLetters(rows, IcebergTarget(opened, name + _DEAD_LETTERS), wanted=dead_letters)
