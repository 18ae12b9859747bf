"""The recorded verdicts of a campaign: a text file that is committed, so that any machine can resume it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, Self

from tests.support.mutants.mutant import Mutant

__all__ = ["Entry", "Outcome", "Record", "Verdict"]

_ENTRY: Final = re.compile(r"  (?P<outcome>[a-z]+) (?P<seed>[0-9]*) *(?P<name>\S.*)")
_NOTE: Final = " " * 16
_EQUIVALENT: Final = "Equivalent: "


class Outcome(StrEnum):
    """What became of a mutant."""

    WAITING = "waiting"
    CAUGHT = "caught"
    HANG = "hang"
    SURVIVED = "survived"
    UNVIABLE = "unviable"

    @property
    def is_caught(self) -> bool:
        """Whether the judge noticed the change."""
        return self in (Outcome.CAUGHT, Outcome.HANG)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge says, and the seed of the world that showed it."""

    outcome: Outcome
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A mutant's verdict, and the sentence that somebody wrote about it."""

    file: str
    name: str
    verdict: Verdict = Verdict(Outcome.WAITING)
    note: str = ""

    @property
    def is_equivalent(self) -> bool:
        """Whether the note explains that the mutant behaves like the original."""
        return self.verdict.outcome is Outcome.SURVIVED and self.note.startswith(_EQUIVALENT)


@dataclass(slots=True)
class Record:
    """One file: a head that says what it is about, then the mutants in the order of the source."""

    head: str
    entries: dict[tuple[str, str], Entry] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads what `render` writes."""
        record, file, last = cls(""), "", None
        for line in text.splitlines():
            if line.startswith("#"):
                record.head += f"{line}\n"
            elif line.startswith(_NOTE) and last is not None:
                last = Entry(last.file, last.name, last.verdict, f"{last.note} {line.strip()}".strip())
                record.put(last)
            elif found := _ENTRY.fullmatch(line):
                seed = int(found["seed"]) if found["seed"] else None
                last = Entry(file, found["name"], Verdict(Outcome(found["outcome"]), seed))
                record.put(last)
            elif line and not line.startswith(" "):
                file = line
            else:
                assert not line, f"this line of a record is not understood: {line!r}"
        return record

    def render(self) -> str:
        """The text of the file."""
        lines, file = [self.head.rstrip("\n")], ""
        for entry in self.entries.values():
            if entry.file != file:
                file = entry.file
                lines += ["", file]
            outcome = f"{entry.verdict.outcome} {'' if entry.verdict.seed is None else entry.verdict.seed}"
            lines.append(f"  {outcome:<14}{entry.name}")
            if entry.note:
                lines.append(f"{_NOTE}{entry.note}")
        return "\n".join(lines) + "\n"

    def put(self, entry: Entry) -> None:
        """Adds an entry, or replaces the one of the same mutant."""
        self.entries[entry.file, entry.name] = entry

    def follow(self, mutants: Iterable[Mutant]) -> None:
        """Keeps the verdicts of these mutants in their order; the others leave the record, new ones wait."""
        self.entries = {
            (each.file, each.name): self.entries.get((each.file, each.name), Entry(each.file, each.name))
            for each in mutants
        }

    def settle(self, mutant: Mutant, verdict: Verdict) -> None:
        """Writes down a verdict. A note about a survivor is of no use once the mutant is caught."""
        known = self.entries[mutant.file, mutant.name]
        note = known.note if verdict.outcome is Outcome.SURVIVED else ""
        self.put(Entry(mutant.file, mutant.name, verdict, note))

    def save(self, path: Path) -> None:
        """Replaces the file at once, so that an interruption never leaves half of it."""
        new = path.with_suffix(".new")
        new.write_text(self.render(), encoding="utf-8")
        new.replace(path)
