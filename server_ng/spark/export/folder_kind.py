"""The kind of table that a folder already holds, so that no export adds another kind to it.

A reader of Parquet files reads every file below a folder. If a folder held tables of two kinds, such a reader
would read each row twice.
"""

from pathlib import Path
from typing import Final

from server_ng.spark.errors import OptionError

__all__ = ["refuse_other_kind"]

_SIGNS: Final = {
    "parquet": "_server_ng/commits",
    "delta": "_delta_log",
    "iceberg": "metadata/*.metadata.json",
}
"""Files that only a table of this kind has."""
_TITLES: Final = {"parquet": "a Parquet table", "delta": "a Delta table", "iceberg": "an Iceberg table"}


def refuse_other_kind(folder: Path, wanted: str) -> None:
    """Raises `OptionError` if a folder holds a table of another kind, or Parquet files of no table."""
    found = [kind for kind, sign in _SIGNS.items() if any(folder.glob(sign))]
    others = [kind for kind in found if kind != wanted]
    if others:
        raise OptionError(
            f"{folder} is {_TITLES[others[0]]}. "
            f"Give --to {others[0]}, or another --target for {_TITLES[wanted]}."
        )
    if not found and any(folder.glob("*.parquet")):
        raise OptionError(f"{folder} holds Parquet files of no exported table. Give another --target.")
