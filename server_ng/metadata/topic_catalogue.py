"""The options a topic can be created with: kinds, bounds and defaults, as `native/wire` describes them."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from server_ng.metadata.option_values import Read, Value, flag, quantity, word
from server_ng.metadata.quantities import U64_MAX, microseconds, size_bytes, whole_number
from server_ng.metadata.rows import Compression, Durability
from server_ng.wire.tables import TOPIC_OPTIONS, ValueKind

__all__ = ["COMPRESSIONS", "DURABILITIES", "ENFORCE_FSYNC", "FSYNC_CHOICE", "TOPIC_CATALOGUE", "Choice"]

COMPRESSIONS: Final = {"none": Compression.NONE, "gzip": Compression.GZIP}
DURABILITIES: Final = {"replicated": Durability.REPLICATED, "persisted": Durability.PERSISTED}

_SEGMENT_BYTES = range(1 << 20, (1 << 30) + 1, 512)
_MESSAGES_TO_SAVE = range(1, (16 << 20) + 1)
_BYTES_TO_SAVE = range((1 << 30) + 1)
_ANY = range(U64_MAX + 1)

_ENDLESS = dict.fromkeys(("none", "None", "unlimited", "Unlimited", "never_expire"), U64_MAX)
_SERVER_DEFAULT = dict.fromkeys(("default", "Default", "server_default", "Server_default"), 0)
_WORDS = _ENDLESS | _SERVER_DEFAULT


class Choice(NamedTuple):
    """One key: how it is read, and in which kind it is kept."""

    kind: ValueKind
    default: Value
    read: Read
    updatable: bool = False
    zero_is_absent: bool = False
    """Whether 0 says "as the server has it"."""


def _expiry(text: str) -> int | None:
    return _WORDS[text] if text in _WORDS else microseconds(text)


def _topic_bytes(text: str) -> int | None:
    return _WORDS[text] if text in _WORDS else size_bytes(text)


_READS: Final[Mapping[str, Read]] = {
    "compression_algorithm": word(COMPRESSIONS),
    "consumer_offset_durability": word(DURABILITIES),
    "durability": word(DURABILITIES),
    "max_topic_size": quantity(ValueKind.U64, _topic_bytes, _ANY),
    "message_expiry": quantity(ValueKind.U64, _expiry, _ANY),
    "messages_required_to_save": quantity(ValueKind.U32, whole_number, _MESSAGES_TO_SAVE),
    "preallocate_segments": flag,
    "segment_size": quantity(ValueKind.U64, size_bytes, _SEGMENT_BYTES, or_zero=True),
    "size_of_messages_required_to_save": quantity(ValueKind.U64, size_bytes, _BYTES_TO_SAVE),
}

TOPIC_CATALOGUE: Final = {
    row.key: Choice(
        row.kind,
        row.default,
        _READS[row.key],
        updatable=row.updatable,
        zero_is_absent=row.kind is ValueKind.U64,
    )
    for row in TOPIC_OPTIONS
}
"""Every key that clients are told of, ascending. Which values each takes is judged natively before an op is
proposed, and here again when it is applied: `tests/golden/wire/topic_options.txt` holds the two together."""

ENFORCE_FSYNC: Final = "enforce_fsync"
"""A key of older clients, of which nobody is told: yes stands for both durabilities `persisted`."""
FSYNC_CHOICE: Final = Choice(ValueKind.BOOL, 0, flag)
