"""The campaigns: which mutants are judged by whom, and where their verdicts are recorded."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.mutants.judge import Judge, Simulator, UnitTests
from tests.support.mutants.mutant import Mutant, list_mutants
from tests.support.mutants.record import Outcome, Record
from tests.support.mutants.sample import draw

__all__ = ["CAMPAIGNS", "Campaign", "Part", "choose"]

_SEED: Final = 20_261_120
_SAMPLE: Final = 100
_RECORDS: Final = Path("native/mutants")
_VSR: Final = ("native/vsr/src/**",)
_REST: Final = (
    "native/partition/src/**",
    "native/replication/src/**",
    "native/storage/src/journal/**",
    *(
        f"native/storage/src/store/{name}.rs"
        for name in ("opening", "rebuild", "reindex", "survey", "tail", "verification", "walk")
    ),
)


@dataclass(frozen=True, slots=True)
class Part:
    """Every mutant of some files, or a sample of so many."""

    globs: tuple[str, ...]
    size: int | None = None

    def choose(self, mutants: Iterable[Mutant]) -> list[Mutant]:
        """The mutants that are judged."""
        return list(mutants) if self.size is None else draw(mutants, _SEED, self.size)


@dataclass(frozen=True, slots=True)
class Campaign:
    """One record, filled by one judge."""

    name: str
    head: str
    judge: type[Judge]
    parts: tuple[Part, ...]

    @property
    def path(self) -> Path:
        """The record, from the top of the tree."""
        return _RECORDS / f"{self.name}.txt"

    def list(self, root: Path) -> list[Mutant]:
        """The mutants of the tree as it is now."""
        return [each for part in self.parts for each in part.choose(list_mutants(root, part.globs))]

    def load(self, root: Path) -> Record:
        """The verdicts so far."""
        path = root / self.path
        record = Record.parse(path.read_text(encoding="utf-8")) if path.exists() else Record("")
        record.head = self.head
        return record


CAMPAIGNS: Final = (
    Campaign(
        "unit-tests",
        "# Every mutant of ng-vsr, judged by the unit tests of ng-vsr.\n"
        "# `make mutants` writes the verdicts; the indented sentences are written by hand.\n",
        UnitTests,
        (Part(_VSR),),
    ),
    Campaign(
        "simulator",
        f"# A sample of mutants (seed {_SEED}), each judged by storms 1 to 2000 of the simulator alone.\n"
        "# The number is the seed of a world that failed; of a hang, the first of its hundred worlds.\n"
        "# `make mutants` writes the verdicts; the indented sentences are written by hand.\n",
        Simulator,
        (Part(_VSR, _SAMPLE), Part(_REST, _SAMPLE)),
    ),
)


def choose(record: Record, mutants: list[Mutant], only: str, *, again: bool) -> list[Mutant]:
    """The mutants that wait, and perhaps survivors."""
    chosen = []
    for each in mutants:
        entry = record.entries[each.file, each.name]
        waits = entry.verdict.outcome is Outcome.WAITING
        is_survivor = entry.verdict.outcome is Outcome.SURVIVED and not entry.note
        if (waits or (again and is_survivor)) and re.search(only, f"{each.file} {each.name}"):
            chosen.append(each)
    return chosen
