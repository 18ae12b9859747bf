"""A mutant: one small change of one source file, as cargo-mutants lists it."""

import json
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

__all__ = ["Mutant", "Place", "list_mutants", "read_listing"]

# Bugs for the simulator to plant: no build that serves has them.
_PLANTS: Final = "plant.rs"


@dataclass(frozen=True, slots=True)
class Place:
    """A line and a column, both from 1 on."""

    line: int
    column: int

    def offset(self, text: str) -> int:
        """The index of the character at this place."""
        lines = text.splitlines(keepends=True)
        return sum(map(len, lines[: self.line - 1])) + self.column - 1


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change. Its name has no line number, so that a verdict outlives edits elsewhere in the file."""

    package: str
    file: str
    name: str
    start: Place
    end: Place
    replacement: str

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Self:
        """One entry of the listing in JSON."""
        start, end = (
            Place(entry["span"][side]["line"], entry["span"][side]["column"]) for side in ("start", "end")
        )
        name = entry["name"].removeprefix(f"{entry['file']}:{start.line}:{start.column}: ")
        assert name != entry["name"], entry["name"]
        return cls(entry["package"], entry["file"], name, start, end, entry["replacement"])

    def apply(self, text: str) -> str:
        """The text of the file with the change."""
        return text[: self.start.offset(text)] + self.replacement + text[self.end.offset(text) :]

    def __str__(self) -> str:
        return f"{self.file}:{self.start.line}:{self.start.column}: {self.name}"


def list_mutants(root: Path, globs: Iterable[str]) -> list[Mutant]:
    """Every mutant of the files that match, in the order of the source."""
    files = [part for glob in globs for part in ("--file", glob)]
    listed = subprocess.run(
        ["cargo", "mutants", "--no-config", "--list", "--json", *files],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    return read_listing(json.loads(listed.stdout))


def read_listing(entries: Sequence[Mapping[str, Any]]) -> list[Mutant]:
    """The mutants of a listing. Those of one file with the same name are numbered."""
    mutants = [Mutant.read(entry) for entry in entries if Path(entry["file"]).name != _PLANTS]
    mutants.sort(key=lambda each: (each.file, each.start.line, each.start.column))
    seen = Counter[tuple[str, str]]()
    numbered = []
    for each in mutants:
        seen[each.file, each.name] += 1
        number = seen[each.file, each.name]
        name = each.name if number == 1 else f"{each.name} ({number})"
        numbered.append(Mutant(each.package, each.file, name, each.start, each.end, each.replacement))
    return numbered
