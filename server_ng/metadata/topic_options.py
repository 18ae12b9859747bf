"""What a client chose for a topic, and what the server puts in for the rest."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from server_ng.metadata.option_values import Value, encode_value
from server_ng.metadata.rows import Compression, Durability, TopicRow
from server_ng.metadata.topic_catalogue import (
    COMPRESSIONS,
    DURABILITIES,
    ENFORCE_FSYNC,
    FSYNC_CHOICE,
    TOPIC_CATALOGUE,
    Choice,
)
from server_ng.wire.options import Option, decode_options, encode_options
from server_ng.wire.refusals import RefusedError
from server_ng.wire.tables import ErrorCode

__all__ = ["OptionUpdate", "TopicOptions", "choose", "patch", "read_update"]

_CREATABLE: Final = TOPIC_CATALOGUE | {ENFORCE_FSYNC: FSYNC_CHOICE}
_UPDATABLE: Final = {key: choice for key, choice in TOPIC_CATALOGUE.items() if choice.updatable}
_DURABILITY_KEYS: Final = ("consumer_offset_durability", "durability")

OptionUpdate: TypeAlias = tuple[tuple[Option, Value], ...]
"""Options as they were sent, each with its value."""


class TopicOptions(NamedTuple):
    """What a new topic comes to have."""

    message_expiry: int
    compression: Compression
    max_topic_size: int
    segment_size: int
    durability: Durability
    consumer_offset_durability: Durability
    preallocate_segments: bool
    explicit: bytes
    """The block of what the client chose, in canonical kinds."""
    derived: bytes
    """The block of what the server put in."""


def choose(sent: Iterable[Option]) -> TopicOptions:
    """The options of a new topic."""
    chosen = _chosen(sent)
    defaults = {key: choice.default for key, choice in TOPIC_CATALOGUE.items() if key not in chosen}
    _follow_fsync(chosen, defaults)
    values = defaults | chosen
    return TopicOptions(
        message_expiry=int(values["message_expiry"]),
        compression=COMPRESSIONS[str(values["compression_algorithm"])],
        max_topic_size=int(values["max_topic_size"]),
        segment_size=int(values["segment_size"]),
        durability=DURABILITIES[str(values["durability"])],
        consumer_offset_durability=DURABILITIES[str(values["consumer_offset_durability"])],
        preallocate_segments=bool(values["preallocate_segments"]),
        explicit=_canonical_block(chosen),
        derived=_canonical_block(defaults),
    )


def read_update(sent: Iterable[Option]) -> OptionUpdate:
    """What an update says, before it is known of which topic."""
    return tuple((option, _read(_UPDATABLE, option)) for option in sent)


def patch(row: TopicRow, update: OptionUpdate) -> TopicRow:
    """The row after an update: what was sent is kept as it was sent, and a 0 changes nothing but that."""
    explicit = _stored(row.options) | {option.key: option for option, _ in update}
    derived = {key: option for key, option in _stored(row.derived_options).items() if key not in explicit}
    values = {option.key: value for option, value in update if value}
    compression = values.get("compression_algorithm")
    return row._replace(
        message_expiry=int(values.get("message_expiry", row.message_expiry)),
        compression=row.compression if compression is None else COMPRESSIONS[str(compression)],
        max_topic_size=int(values.get("max_topic_size", row.max_topic_size)),
        options=_block(explicit),
        derived_options=_block(derived),
    )


def _chosen(sent: Iterable[Option]) -> dict[str, Value]:
    """What was sent, but for zeros that leave the choice to the server."""
    values = {option.key: _read(_CREATABLE, option) for option in sent}
    return {key: value for key, value in values.items() if value or not _CREATABLE[key].zero_is_absent}


def _read(choices: Mapping[str, Choice], option: Option) -> Value:
    choice = choices.get(option.key)
    if choice is None:
        raise RefusedError(ErrorCode.UNSUPPORTED_OPTION_KEY, f"{option.key!r} is no option here")
    value = choice.read(option)
    if value is None:
        raise RefusedError(ErrorCode.INVALID_OPTION_VALUE, f"{option.key} has a value it cannot have")
    return value


def _follow_fsync(chosen: Mapping[str, Value], defaults: dict[str, Value]) -> None:
    if ENFORCE_FSYNC not in chosen:
        return
    level = "persisted" if chosen[ENFORCE_FSYNC] else "replicated"
    for key in _DURABILITY_KEYS:
        if chosen.get(key, level) != level:
            raise RefusedError(ErrorCode.INVALID_OPTION_VALUE, f"{ENFORCE_FSYNC} contradicts {key}")
        if key in defaults:
            defaults[key] = level


def _canonical_block(values: Mapping[str, Value]) -> bytes:
    return _block({key: encode_value(key, _CREATABLE[key].kind, value) for key, value in values.items()})


def _block(options: Mapping[str, Option]) -> bytes:
    return encode_options(options[key] for key in sorted(options))


def _stored(block: bytes) -> dict[str, Option]:
    return {option.key: option for option in decode_options(block)}
