"""A table of one kind in a folder, as readers see it that are not ours."""

from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlparse

import pyarrow.parquet as pq
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog

from server_ng.spark.export.opening import open_target
from server_ng.spark.export.target import Target

__all__ = ["KINDS", "WrittenTable"]

KINDS: Final = ("parquet", "iceberg", "delta")


class WrittenTable:
    """Opened anew for each job, as a process would."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.folder = kind, folder
        folder.mkdir()

    def catalog(self) -> dict[str, str]:
        """Of Iceberg."""
        return {"uri": f"sqlite:///{self.folder}/catalog.db", "warehouse": f"file://{self.folder}"}

    @property
    def name(self) -> str:
        """What jobs call it."""
        return "lake.events" if self.kind == "iceberg" else str(self.folder / "table")

    def words(self) -> list[str]:
        """The same on a command line."""
        properties = self.catalog() if self.kind == "iceberg" else {}
        catalog = [word for name, value in properties.items() for word in ("--catalog", f"{name}={value}")]
        return ["--target", self.name, *catalog]

    def open(self, **how: Any) -> Target:
        """A job's view of it."""
        return open_target(self.kind, self.name, self.catalog(), **how)

    def rows(self, suffix: str = "") -> list[dict[str, Any]]:
        """All of them, in order; with a suffix those of a table beside it."""
        if self.kind == "parquet":
            folder = self.folder / "table" / suffix
            rows = [row for file in folder.glob("*.parquet") for row in pq.read_table(file).to_pylist()]
        elif self.kind == "delta":
            rows = DeltaTable(self.folder / f"table{suffix}").to_pyarrow_table().to_pylist()
        else:
            catalog = load_catalog("server_ng", **self.catalog())
            rows = catalog.load_table(f"lake.events{suffix}").scan().to_arrow().to_pylist()
        return sorted(rows, key=lambda row: (row["partition"], row["offset"]))

    def places(self) -> list[tuple[int, int]]:
        """Partition and offset of each."""
        return [(row["partition"], row["offset"]) for row in self.rows()]

    def delete_all(self) -> None:
        """Every row goes from the newest version; a table of plain files, which has one alone, keeps them."""
        if self.kind == "delta":
            DeltaTable(self.folder / "table").delete()
        elif self.kind == "iceberg":
            load_catalog("server_ng", **self.catalog()).load_table("lake.events").delete()

    def strays(self) -> set[Path]:
        """Data files that the table does not name."""
        if self.kind == "parquet":
            return set((self.folder / "table" / "_server_ng" / "staging").rglob("*.parquet"))
        if self.kind == "delta":
            named = DeltaTable(self.folder / "table").file_uris()
        else:
            scan = load_catalog("server_ng", **self.catalog()).load_table("lake.events").scan()
            named = [task.file.file_path for task in scan.plan_files()]
        return set(self.folder.rglob("*.parquet")) - {Path(unquote(urlparse(each).path)) for each in named}
