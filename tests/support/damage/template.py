"""A data directory as a server left it, with everything acknowledged: each trial damages a copy."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.support.damage.ledger import Ledger, PartitionKey

__all__ = ["OffsetRange", "Template", "copy_tree", "shard_settings"]


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """The offsets of a partition that a file holds."""

    partition: PartitionKey
    first: int
    last: int
    """Inclusive."""


@dataclass(frozen=True, slots=True)
class Template:
    """One history of a server, ended and kept."""

    folder: Path
    settings: Mapping[str, str]
    """Settings every start needs."""
    ranges: Mapping[str, OffsetRange]
    """Offsets by the relative path of a segment; the directory of a group stands for the whole partition."""
    older: int
    """Number of copies of earlier moments."""
    damaged: tuple[str, ...] = ()
    """Relative paths of files that are damaged already, of which a refusal may speak."""

    @property
    def name(self) -> str:
        """The name in tables and replays."""
        return self.folder.name

    @property
    def data(self) -> Path:
        """The data directory. Nothing is ever changed in it."""
        return self.folder / "data"

    def earlier(self, moment: int) -> Path:
        """The data directory at an earlier moment, 0 being the earliest."""
        return self.folder / f"earlier-{moment}"

    def ledger(self) -> Ledger:
        """Everything that was acknowledged; each caller gets a copy of its own."""
        return Ledger.read(self.folder / "ledger.json")

    def save(self, ledger: Ledger) -> None:
        """Writes the description beside the data."""
        ranges = {
            path: [
                found.partition.stream,
                found.partition.topic,
                found.partition.number,
                found.first,
                found.last,
            ]
            for path, found in self.ranges.items()
        }
        described = {
            "settings": dict(self.settings),
            "ranges": ranges,
            "older": self.older,
            "damaged": self.damaged,
        }
        (self.folder / "ledger.json").write_text(ledger.encode())
        (self.folder / "template.json").write_text(json.dumps(described))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Reads what `save` wrote."""
        described = json.loads((folder / "template.json").read_text())
        ranges = {
            path: OffsetRange(PartitionKey(stream, topic, number), first, last)
            for path, (stream, topic, number, first, last) in described["ranges"].items()
        }
        return cls(folder, described["settings"], ranges, described["older"], tuple(described["damaged"]))


def copy_tree(source: Path, target: Path) -> None:
    """Copies a data directory with its hard links; shares the blocks where the file system can."""
    subprocess.run(["cp", "-a", "--reflink=auto", str(source), str(target)], check=True)


def shard_settings(shards: int) -> dict[str, str]:
    """Settings of a server with so many shards, however few CPUs there are."""
    return {"system.sharding.cpu_allocation": str(shards), "system.sharding.pin_cores": "false"}
