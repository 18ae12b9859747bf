"""Holds what a server serves after damage against everything that was acknowledged before."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Final

from tests.support.damage.ledger import Ledger, PartitionKey, PartitionLedger
from tests.support.damage.reading import PartitionReading, Reading
from tests.support.damage.template import OffsetRange

__all__ = ["Complaint", "Expectation", "Forbidden", "judge"]

_FENCES: Final = frozenset({4011, 4027, 4039})
"""Statuses that say messages are damaged."""


class Forbidden(StrEnum):
    """Outcomes that no damage excuses."""

    LOST = "silent loss"
    WRONG = "wrong bytes"
    REUSED = "reused offset"
    STALE = "stale message"
    UNRELATED = "unrelated range out of service"
    OFFSET = "stored offset lost"
    FIGURES = "wrong figures"
    UNNAMED = "damage not named"
    REFUSAL = "bad refusal"
    ENDED = "server ended"
    HUNG = "hang"
    SEND = "send refused"


@dataclass(frozen=True, slots=True)
class Complaint:
    """A forbidden outcome and its story."""

    kind: Forbidden
    story: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.story}"


@dataclass(slots=True)
class Expectation:
    """The ledger, and what the damage excuses."""

    ledger: Ledger
    fences: list[OffsetRange] = field(default_factory=list)
    """Ranges whose file is damaged: a typed refusal is allowed."""
    given_up: dict[PartitionKey, dict[int, int]] = field(default_factory=dict)
    """Messages of accepted losses. A segment that still has them may serve them."""
    may_lose: set[PartitionKey] = field(default_factory=set)
    """Partitions whose losses an operator has accepted and no reading has settled yet."""

    def settle(self, reading: Reading) -> None:
        """After an accepted loss the server stands for what it serves now."""
        for key in self.may_lose:
            partition, found = self.ledger.partitions[key], reading[key]
            served = {message.offset for message in found.messages} | found.refused.keys()
            self.given_up.setdefault(key, {}).update(partition.messages)
            partition.messages = {
                offset: digest for offset, digest in partition.messages.items() if offset in served
            }
            partition.stored = {name: offset for name, offset in found.stored.items() if offset is not None}
        self.may_lose.clear()


def judge(expectation: Expectation, reading: Reading) -> list[Complaint]:
    """Every forbidden outcome in a reading."""
    return [
        complaint
        for key, partition in expectation.ledger.partitions.items()
        for complaint in _judge_partition(expectation, key, partition, reading[key])
    ]


def _judge_partition(
    expectation: Expectation, key: PartitionKey, partition: PartitionLedger, reading: PartitionReading
) -> Iterator[Complaint]:
    excused = key in expectation.may_lose
    yield from _bytes(key, expectation.given_up.get(key, {}) | partition.messages, reading)
    yield from _refusals(key, reading.refused, expectation.fences)
    if excused:
        return
    served = {message.offset for message in reading.messages} | reading.refused.keys()
    lost = [offset for offset in partition.messages if offset not in served]
    if lost:
        yield Complaint(
            Forbidden.LOST, f"{key}: {len(lost)} of {len(partition.messages)} messages, {_shown(lost)}"
        )
    for consumer, offset in partition.stored.items():
        if reading.stored[consumer] != offset:
            story = f"{key}: consumer {consumer} has {reading.stored[consumer]} instead of {offset}"
            yield Complaint(Forbidden.OFFSET, story)
    if not reading.refused and not lost and reading.counted != len(reading.messages):
        yield Complaint(
            Forbidden.FIGURES,
            f"{key}: get topic counts {reading.counted} messages of {len(reading.messages)}",
        )


def _bytes(key: PartitionKey, known: Mapping[int, int], reading: PartitionReading) -> Iterator[Complaint]:
    for before, after in pairwise(reading.messages):
        if after.offset <= before.offset:
            yield Complaint(Forbidden.WRONG, f"{key}: offset {after.offset} follows {before.offset}")
    wrong = [m.offset for m in reading.messages if m.offset in known and known[m.offset] != m.digest]
    if wrong:
        yield Complaint(Forbidden.WRONG, f"{key}: {len(wrong)} other messages at {_shown(wrong)}")
    stale = [m.offset for m in reading.messages if m.offset not in known]
    if stale:
        yield Complaint(
            Forbidden.STALE, f"{key}: {len(stale)} messages that nothing acknowledged, {_shown(stale)}"
        )


def _refusals(
    key: PartitionKey, refused: Mapping[int, int], fences: Sequence[OffsetRange]
) -> Iterator[Complaint]:
    allowed = [fence for fence in fences if fence.partition == key]
    outside = [
        offset for offset in refused if not any(fence.first <= offset <= fence.last for fence in allowed)
    ]
    if outside:
        statuses = sorted({refused[offset] for offset in outside})
        story = f"{key}: {len(outside)} offsets are refused with {statuses}, {_shown(outside)}"
        yield Complaint(Forbidden.UNRELATED, story)
    untyped = sorted({status for status in refused.values() if status not in _FENCES})
    if untyped:
        yield Complaint(Forbidden.UNRELATED, f"{key}: polls are refused with {untyped}")


def _shown(offsets: Sequence[int]) -> str:
    return f"offsets {min(offsets)} to {max(offsets)}"
