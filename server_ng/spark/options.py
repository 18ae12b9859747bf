"""The options of the source: names as Spark's own sources have them, where they mean the same."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

from server_ng.segments.keys import DEFAULT_KEY
from server_ng.spark.errors import OptionError
from server_ng.spark.keys import key_rule

__all__ = ["EARLIEST", "LATEST", "Bound", "Offsets", "Options"]

EARLIEST: Final = -2
LATEST: Final = -1
_MIB: Final = 1 << 20

Offsets: TypeAlias = dict[int, int]
"""Per partition an offset, or `EARLIEST` or `LATEST`."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Where reading begins or ends."""

    everywhere: int
    """`EARLIEST` or `LATEST`: of partitions that are not named."""
    offsets: Offsets
    time: int | None
    """Microseconds: the first message that was appended then or later."""
    times: Mapping[int, int] = field(default_factory=dict)
    """The same for single partitions."""
    needs_message: bool = False
    """Whether it is an error that nothing was appended then or later, and not the end."""


@dataclass(frozen=True, slots=True)
class Options:
    """All options, read and checked."""

    directory: Path
    """Of a lease; of no meaning with `control`."""
    control: Path | None
    stream: str
    topic: str
    partitions: tuple[int, ...] | None
    start: Bound
    end: Bound
    columns: tuple[str, ...] | None
    include_headers: bool
    key: str
    """The rule of keys."""
    fail_on_data_loss: bool
    skip_damage: bool
    damage_path: Path | None
    restart_at_earliest: bool
    verify: bool
    partition_bytes: int
    partition_rows: int | None
    min_partitions: int | None
    trigger_rows: int | None
    trigger_bytes: int | None
    trigger_rows_min: int | None
    trigger_delay: float
    """Seconds after which a micro-batch takes what is there, though that is fewer messages."""
    batch_rows: int
    batch_bytes: int
    lease_seconds: int
    """How long the server keeps a cut for a query unless it is renewed, which its tasks or its driver do."""
    cut_interval: float
    """Seconds that lie at least between two cuts of a query that follows a topic."""

    @classmethod
    def parse(cls, given: Mapping[str, str], *, lease_seconds: int = 300) -> Self:
        """Reads them; raises `OptionError` for the first that is wrong."""
        found = _Given(given)
        lease, control = found.text("path"), found.text("control")
        if (lease is None) == (control is None):
            raise OptionError(
                "give load() the directory of a lease, or the option control with the server's control.sock"
            )
        stream, topic, partitions = _subscription(found, needed=control is not None)
        damage_path = found.text("damagePath")
        options = cls(
            directory=Path(lease or "."),
            control=None if control is None else Path(control),
            stream=stream,
            topic=topic,
            partitions=partitions,
            start=_bound(found, "starting", EARLIEST),
            end=_bound(found, "ending", LATEST),
            columns=_names(found.text("columns")),
            include_headers=found.flag("includeHeaders", default=False),
            key=key_rule(found.text("key") or DEFAULT_KEY),
            fail_on_data_loss=found.flag("failOnDataLoss", default=True),
            skip_damage=found.choice("onDamage", ("fail", "skip")) == "skip",
            damage_path=None if damage_path is None else Path(damage_path),
            restart_at_earliest=found.choice("onTopicChange", ("fail", "earliest")) == "earliest",
            verify=found.flag("verifyChecksums", default=True),
            partition_bytes=found.number("maxBytesPerPartition", 1) or 128 * _MIB,
            partition_rows=found.number("maxRecordsPerPartition", 1),
            min_partitions=found.number("minPartitions", 1),
            trigger_rows=found.number("maxOffsetsPerTrigger", 1),
            trigger_bytes=found.number("maxBytesPerTrigger", 1),
            trigger_rows_min=found.number("minOffsetsPerTrigger", 1),
            trigger_delay=found.duration("maxTriggerDelay", "15m"),
            batch_rows=found.number("batchRows", 1, 1 << 20) or 32_768,
            batch_bytes=found.number("batchBytes", 4096, 64 * _MIB) or 8 * _MIB,
            lease_seconds=found.number("leaseSeconds", 10) or lease_seconds,
            cut_interval=(found.number("cutIntervalMillis", 1) or 1000) / 1000,
        )
        found.finish()
        limits = (options.trigger_rows, options.trigger_bytes, options.trigger_rows_min)
        if sum(limit is not None for limit in limits) > 1:
            raise OptionError(
                "one of maxOffsetsPerTrigger, maxBytesPerTrigger and minOffsetsPerTrigger, not more"
            )
        return options


class _Given:
    """Options by name, whatever their case; each is taken once."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = {name.lower(): (name, value) for name, value in given.items()}
        self._known: list[str] = []

    def text(self, name: str) -> str | None:
        self._known.append(name)
        _, value = self._given.pop(name.lower(), (name, None))
        return value

    def peek(self, name: str) -> str | None:
        """The same without taking it."""
        return self._given.get(name.lower(), (name, None))[1]

    def flag(self, name: str, *, default: bool) -> bool:
        return self.choice(name, ("true", "false") if default else ("false", "true")) == "true"

    def choice(self, name: str, values: tuple[str, ...]) -> str:
        """One of some values, the first without the option."""
        value = (self.text(name) or values[0]).lower()
        if value not in values:
            raise OptionError(f"{name}: {value!r} is none of {', '.join(values)}")
        return value

    def number(self, name: str, least: int, most: int = (1 << 63) - 1) -> int | None:
        text = self.text(name)
        if text is None:
            return None
        if not text.isdecimal() or not least <= int(text) <= most:
            raise OptionError(f"{name}: {text!r} is not a number from {least} to {most}")
        return int(text)

    def duration(self, name: str, default: str) -> float:
        """Seconds, from a whole number and its unit."""
        text = self.text(name) or default
        found = re.fullmatch(r"(\d{1,9}) ?(ms|s|m|h)", text.strip())
        if found is None:
            raise OptionError(f"{name}: {text!r} is not a time as 500ms, 30s, 15m or 1h")
        return int(found[1]) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[found[2]]

    def finish(self) -> None:
        for name, _ in self._given.values():
            raise OptionError(f"{name} is not an option; these are: {', '.join(sorted(self._known))}")


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


def _subscription(found: _Given, *, needed: bool) -> tuple[str, str, tuple[int, ...] | None]:
    subscribe, assign = found.text("subscribe"), found.text("assign")
    if subscribe is None and assign is None and not needed:
        return "", "", None
    if (subscribe is None) == (assign is None):
        raise OptionError('give subscribe as "stream/topic", or assign as {"stream/topic": [partitions]}')
    if subscribe is not None:
        if all("/" in part for part in subscribe.split(",")) and "," in subscribe:
            raise OptionError("subscribe: one topic for each table; make a union of the tables of several")
        return (*_topic_of("subscribe", subscribe), None)
    chosen = _object("assign", str(assign))
    if len(chosen) != 1:
        raise OptionError("assign: one topic for each table; make a union of the tables of several")
    ((name, partitions),) = chosen.items()
    if not isinstance(partitions, list) or not all(type(each) is int and each >= 0 for each in partitions):
        raise OptionError(f"assign: {partitions!r} is not a list of partitions")
    return (*_topic_of("assign", name), tuple(sorted(set(partitions))))


def _topic_of(option: str, name: str) -> tuple[str, str]:
    stream, slash, topic = name.partition("/")
    if not (stream and slash and topic):
        raise OptionError(f'{option}: {name!r} is not "stream/topic"')
    return stream, topic


def _bound(found: _Given, word: str, default: int) -> Bound:
    names = f"{word}Offsets", f"{word}Timestamp", f"{word}OffsetsByTimestamp"
    if sum(found.peek(name) is not None for name in names) > 1:
        raise OptionError(f"{', '.join(names[:2])} and {names[2]} exclude each other")
    offsets, time, times = found.text(names[0]), _time(found, names[1], names[2]), found.text(names[2])
    needs_message = word == "starting" and found.choice(f"{names[2]}Strategy", ("latest", "error")) == "error"
    words = {"earliest": EARLIEST, "latest": LATEST}
    if time is not None:
        return Bound(default, {}, time * 1000, needs_message=needs_message)
    if times is not None:
        single = {partition: at * 1000 for partition, at in _offsets(names[2], times, 0).items()}
        return Bound(default, {}, None, single, needs_message)
    if offsets is None:
        return Bound(default, {}, None)
    if offsets.strip().lower() in words:
        return Bound(words[offsets.strip().lower()], {}, None)
    return Bound(default, _offsets(names[0], offsets, EARLIEST), None)


def _time(found: _Given, option: str, single: str) -> int | None:
    if (found.peek(option) or "").lstrip().startswith("{"):
        raise OptionError(f"{option}: one time for all partitions; {single} has one for each")
    return found.number(option, 0)


def _offsets(option: str, text: str, least: int) -> Offsets:
    """Per partition, alone or below the name of the topic."""
    chosen = _object(option, text)
    if len(chosen) == 1 and isinstance(next(iter(chosen.values())), dict):
        chosen = next(iter(chosen.values()))
    offsets = {}
    for partition, offset in chosen.items():
        if not partition.isdecimal() or type(offset) is not int or offset < least:
            raise OptionError(f"{option}: {partition!r}: {offset!r} is no number for a partition")
        offsets[int(partition)] = offset
    return offsets


def _object(option: str, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        words = "earliest, latest or " if option in {"startingOffsets", "endingOffsets"} else ""
        raise OptionError(f"{option}: {text!r} is not {words}JSON: {error}") from error
    if not isinstance(found, dict):
        raise OptionError(f"{option}: {text!r} is not a JSON object")
    return found
