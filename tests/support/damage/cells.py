"""The cells of a sweep: which fault of which kind of file in which history, in an order of the seed."""

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Self

from tests.support.damage.fault import FaultKind, is_possible
from tests.support.damage.file_kind import FileKind
from tests.support.damage.template import Template

__all__ = ["Cell", "Cells"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination."""

    template: str
    file_kind: FileKind
    fault: FaultKind


@dataclass(frozen=True, slots=True)
class Cells:
    """Every possible combination; the first few have each kind of file and of fault."""

    ordered: tuple[Cell, ...]

    @classmethod
    def of(cls, templates: Sequence[Template], seed: int, kinds: Collection[FileKind]) -> Self:
        """Rounds: each takes every kind of file once, with the next fault and the next history."""
        dice = random.Random(f"cells-{seed}")
        queues = {
            kind: _queue(templates, kind, number, dice)
            for number, kind in enumerate(FileKind)
            if kind in kinds
        }
        ordered = []
        while any(queues.values()):
            ordered += [queue.pop(0) for queue in queues.values() if queue]
        return cls(tuple(ordered))

    def at(self, trial: int) -> Cell:
        """The cell of a trial."""
        return self.ordered[trial % len(self.ordered)]


def _queue(templates: Sequence[Template], kind: FileKind, start: int, dice: random.Random) -> list[Cell]:
    """The cells of a kind of file: each fault in turn, so that a short sweep has several of them."""
    faults = list(FaultKind)
    faults = faults[start % len(faults) :] + faults[: start % len(faults)]
    rows = []
    for fault in faults:
        possible = [each for each in templates if is_possible(each, templates, kind, fault)]
        dice.shuffle(possible)
        rows.append([Cell(each.name, kind, fault) for each in possible])
    longest = max(map(len, rows))
    return [row[turn] for turn in range(longest) for row in rows if turn < len(row)]
