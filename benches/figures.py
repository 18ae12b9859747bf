"""What was measured, what was measured before, and whether the two agree."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

__all__ = ["Baselines", "Figure", "Verdict", "as_json", "table"]

# A ratio of the same two things on the same machine seldom moves further by itself.
_LOOSE: Final = 1.25


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value."""

    name: str
    value: float
    unit: str
    note: str = ""


class Verdict(StrEnum):
    """How a figure compares with its baseline."""

    SAME = "same"
    """Where the baseline expects it."""
    MOVED = "moved"
    """A ratio that is further from its baseline than chance explains; worth a look, no failure."""
    MISSED = "missed"
    """A ratio beyond the bound we set ourselves."""
    DIFFERS = "DIFFERS"
    """A count outside of its bounds: something was changed."""
    NEW = "new"
    """Without a baseline."""


class Baselines:
    """The committed figures: `counts.json` has bounds that must hold, `ratios.json` is compared loosely."""

    def __init__(self, folder: Path) -> None:
        self._counts: dict[str, Any] = json.loads((folder / "counts.json").read_text())
        self._ratios: dict[str, Any] = json.loads((folder / "ratios.json").read_text())

    @property
    def counts(self) -> frozenset[str]:
        """The names of the counts that are compared exactly."""
        return frozenset(self._counts)

    def judge(self, figure: Figure) -> Verdict:
        """How the figure compares."""
        if (count := self._counts.get(figure.name)) is not None:
            return Verdict.SAME if count["min"] <= figure.value <= count["max"] else Verdict.DIFFERS
        if (ratio := self._ratios.get(figure.name)) is None:
            return Verdict.NEW
        if figure.value > ratio.get("at_most", figure.value):
            return Verdict.MISSED
        before = float(ratio["value"])
        return Verdict.SAME if before / _LOOSE <= figure.value <= before * _LOOSE else Verdict.MOVED

    def expected(self, figure: Figure) -> str:
        """What the baseline says, for the table."""
        if (count := self._counts.get(figure.name)) is not None:
            low, high = count["min"], count["max"]
            return f"{low:g}" if low == high else f"{low:g} to {high:g}"
        if (ratio := self._ratios.get(figure.name)) is None:
            return ""
        bound = f", at most {ratio['at_most']:g}" if "at_most" in ratio else ""
        return f"{ratio['value']:g}{bound}"


def table(figures: Iterable[Figure], baselines: Baselines) -> str:
    """One line for each figure, in columns."""
    rows = [
        (
            figure.name,
            f"{figure.value:.4g} {figure.unit}",
            baselines.expected(figure),
            baselines.judge(figure).value,
        )
        for figure in figures
    ]
    rows.insert(0, ("figure", "measured", "baseline", "verdict"))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def as_json(figures: Iterable[Figure], baselines: Baselines, machine: Mapping[str, object]) -> str:
    """Everything about a run."""
    measured = [{**asdict(figure), "verdict": baselines.judge(figure).value} for figure in figures]
    return json.dumps({"machine": machine, "figures": measured}, indent=2) + "\n"
