"""Which segments of a partition are rewritten, and which of them become one. Pure.

Only a prefix of the sealed segments is ever chosen, and all of it that is not as it should be: then no older
message of a key is left behind when its tombstone goes, whatever of the job is adopted before it dies.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from server_ng.segments.lease import SegmentCut
from server_ng.spark.compact.rules import Rules
from server_ng.spark.compact.survey import Tally

__all__ = ["INPUTS_MAX", "PartitionPlan", "Run", "plan"]

INPUTS_MAX: Final = 1024
"""Segments that one adoption may name."""
_NOTHING_SEALED: Final = (
    "no segment is sealed yet: one is when it has the topic's segment_size (1 GiB by default); "
    "create topics that are to be compacted with a smaller one"
)


@dataclass(frozen=True, slots=True)
class Run:
    """Segments that follow each other and become one."""

    inputs: tuple[SegmentCut, ...]
    messages: int
    """That are left, one at least."""
    placeholder: int | None = None
    """The offset of a message that stays though it is replaced: a segment is never empty."""

    @property
    def bytes(self) -> int:
        """Before the compaction."""
        return sum(segment.bytes for segment in self.inputs)

    @property
    def messages_before(self) -> int:
        """Before the compaction."""
        return sum(segment.messages for segment in self.inputs)


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """What becomes of a partition."""

    runs: tuple[Run, ...]
    tombstones: bool
    """Whether tombstones that may go stay this time."""
    reason: str
    """Why there is nothing to do, or not more."""


def plan(tallies: Sequence[Tally], rules: Rules, cut_at: int) -> PartitionPlan:
    """The runs to rewrite, in the order in which they are to be adopted."""
    settled = _settled(tallies, rules.youngest(cut_at))
    reason = "" if len(settled) == len(tallies) else "the messages behind are too young"
    if not settled:
        return PartitionPlan((), tombstones=False, reason=reason or _NOTHING_SEALED)
    total = sum(tally.segment.messages for tally in settled)
    dead = total - sum(tally.live(tombstones=False) for tally in settled)
    if dead < rules.dirty_min * total:
        return PartitionPlan((), tombstones=False, reason=f"{dead} of {total} messages would go: too few")
    tombstones = False
    runs = _runs(settled, rules.segment_bytes, tombstones=tombstones)
    if any(not _live(run, tombstones=False) for run in runs):
        # A placeholder may be older than the tombstone of its key, which must then not go.
        tombstones = True
        runs = _runs(settled, rules.segment_bytes, tombstones=True)
    chosen = [_run(run, tombstones=tombstones) for run in runs if _worth_it(run, tombstones=tombstones)]
    kept = _up_to(chosen, rules.bytes_max)
    if len(kept) < len(chosen):
        reason = "the rest is for the next job"
    return PartitionPlan(tuple(kept), tombstones, reason if kept else reason or "it is as it should be")


def _settled(tallies: Sequence[Tally], youngest: int | None) -> list[Tally]:
    found = []
    for tally in tallies:
        if youngest is not None and tally.segment.max_timestamp > youngest:
            break
        found.append(tally)
    return found


def _runs(tallies: Iterable[Tally], bytes_max: int, *, tombstones: bool) -> list[list[Tally]]:
    """Each segment in a run; one in which nothing is left joins its neighbours, large ones stay alone."""
    runs: list[list[Tally]] = []
    for tally in tallies:
        if runs and _joins(runs[-1], tally, bytes_max, tombstones=tombstones):
            runs[-1].append(tally)
        else:
            runs.append([tally])
    return runs


def _joins(run: list[Tally], tally: Tally, bytes_max: int, *, tombstones: bool) -> bool:
    if len(run) == INPUTS_MAX:
        return False
    before = sum(_bytes_left(each, tombstones=tombstones) for each in run)
    more = _bytes_left(tally, tombstones=tombstones)
    if not before or not more:
        return True
    apart = any(_stands_alone(each, bytes_max, tombstones=tombstones) for each in (tally, *run[:1]))
    return before + more <= bytes_max and not apart


def _stands_alone(tally: Tally, bytes_max: int, *, tombstones: bool) -> bool:
    """A large segment of which nothing goes is not written again for the sake of a small one."""
    return not _dead(tally, tombstones=tombstones) and 2 * tally.segment.bytes >= bytes_max


def _bytes_left(tally: Tally, *, tombstones: bool) -> int:
    """About how many bytes stay, if all messages are equally long."""
    live = tally.live(tombstones=tombstones)
    return -(-tally.segment.bytes * live // tally.segment.messages)


def _dead(tally: Tally, *, tombstones: bool) -> int:
    return tally.segment.messages - tally.live(tombstones=tombstones)


def _live(run: Sequence[Tally], *, tombstones: bool) -> int:
    return sum(tally.live(tombstones=tombstones) for tally in run)


def _worth_it(run: Sequence[Tally], *, tombstones: bool) -> bool:
    if len(run) > 1:
        return True
    dead = _dead(run[0], tombstones=tombstones)
    return dead > 0 and run[0].segment.messages > 1


def _run(tallies: Sequence[Tally], *, tombstones: bool) -> Run:
    inputs = tuple(tally.segment for tally in tallies)
    live = _live(tallies, tombstones=tombstones)
    return Run(inputs, live) if live else Run(inputs, 1, tallies[-1].last_message)


def _up_to(runs: Sequence[Run], bytes_max: int | None) -> list[Run]:
    kept: list[Run] = []
    for run in runs:
        if kept and bytes_max is not None and sum(each.bytes for each in kept) + run.bytes > bytes_max:
            break
        kept.append(run)
    return kept
