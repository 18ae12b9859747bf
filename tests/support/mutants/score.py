"""The score of a campaign: how many of the viable mutants its judge caught."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.support.mutants.record import Entry, Outcome

__all__ = ["Score", "package_of", "publish", "render"]


@dataclass(frozen=True, slots=True)
class Score:
    """Counts of entries. A mutant that does not compile is no mutant; one that waits has no verdict yet."""

    judged: int
    viable: int
    caught: int
    survived: int
    equivalent: int
    waiting: int

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Self:
        """Counts."""
        listed = list(entries)
        waiting = sum(each.verdict.outcome is Outcome.WAITING for each in listed)
        unviable = sum(each.verdict.outcome is Outcome.UNVIABLE for each in listed)
        judged = len(listed) - waiting
        return cls(
            judged=judged,
            viable=judged - unviable,
            caught=sum(each.verdict.outcome.is_caught for each in listed),
            survived=sum(each.verdict.outcome is Outcome.SURVIVED for each in listed),
            equivalent=sum(each.is_equivalent for each in listed),
            waiting=waiting,
        )

    @property
    def percent(self) -> float:
        """Caught of viable."""
        return 100 * self.caught / self.viable if self.viable else 0.0


def package_of(entry: Entry) -> str:
    """The crate of a source file: `vsr` of `native/vsr/src/lib.rs`."""
    return Path(entry.file).parts[1]


def render(entries: Iterable[Entry]) -> str:
    """A table in Markdown: a row for each crate, and one for all if there are several."""
    listed = list(entries)
    packages = list(dict.fromkeys(map(package_of, listed)))
    rows = [
        (package, Score.of(each for each in listed if package_of(each) == package)) for package in packages
    ]
    if len(rows) > 1:
        rows.append(("all", Score.of(listed)))
    lines = [
        "| Crate | Judged | Viable | Caught | Score | Survived | of these equivalent | Waiting |",
        "|---|---|---|---|---|---|---|---|",
        *(
            f"| {name} | {score.judged} | {score.viable} | {score.caught} | {score.percent:.1f} % "
            f"| {score.survived} | {score.equivalent} | {score.waiting} |"
            for name, score in rows
        ),
    ]
    return "\n".join(lines)


def publish(page: str, campaign: str, table: str) -> str:
    """The page with this table below the mark of a campaign."""
    mark = f"<!-- score: {campaign} -->\n"
    assert mark in page, f"the page has no {mark!r}"
    return re.sub(f"{re.escape(mark)}(\\|.*\n)*", lambda _: f"{mark}{table}\n", page)
