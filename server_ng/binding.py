"""The native library: the only module that imports it, and the handshake with it.

Calls are thin: bytes in, bytes out, a status turned into an exception. What they mean is the business of
`server_ng.engine`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from server_ng._native import ffi, lib
from server_ng.wire.tables import TABLES_DIGEST, Halt, Place, Stop

__all__ = [
    "AddressInUseError",
    "BusyError",
    "ClosedError",
    "Compacted",
    "Compared",
    "ConfigurationError",
    "Decoded",
    "HandshakeError",
    "InvalidError",
    "NativeError",
    "Noted",
    "PermissionDeniedError",
    "Rewritten",
    "TimedOutError",
    "WrongProcessError",
    "arena_size",
    "close",
    "compact_segment",
    "compare_slices",
    "decode_columns",
    "describe",
    "describe_engine",
    "describe_file",
    "digest",
    "drain",
    "join",
    "metrics",
    "newest_add",
    "newest_begin",
    "newest_move",
    "newest_offsets",
    "notify_fd",
    "open_engine",
    "probe",
    "read_footer",
    "recover_directory",
    "rewrite_segment",
    "seek_offset",
    "start",
    "stop",
    "submit",
    "write_footer",
]

ABI_VERSION: Final = 7
"""Of the boundary this module was written for."""

_SYMBOLS: Final = (
    "abi_version",
    "codec_arena_size",
    "codec_compact",
    "codec_compare",
    "codec_decode",
    "codec_describe_file",
    "codec_digest",
    "codec_newest_add",
    "codec_newest_begin",
    "codec_newest_move",
    "codec_newest_offsets",
    "codec_read_footer",
    "codec_rewrite",
    "codec_seek",
    "codec_write_footer",
    "describe",
    "engine_close",
    "engine_describe",
    "engine_drain",
    "engine_join",
    "engine_last_error",
    "engine_metrics",
    "engine_notify_fd",
    "engine_open",
    "engine_start",
    "engine_stop",
    "engine_submit",
    "probe_host",
    "recover_directory",
)
# Whatever offers its bytes to C.
Buffer: TypeAlias = Any
_TEXT_BYTES: Final = 16 * 1024
_DRAIN_BYTES: Final = 64 * 1024
# Only what a call has filled is read.
_uncleared: Final = ffi.new_allocator(should_clear_after_alloc=False)


class HandshakeError(ImportError):
    """The native library belongs to another build than the Python code around it."""


class NativeError(Exception):
    """A native call failed; `args` holds the sentence that explains it."""


class BusyError(NativeError):
    """A ring has no room now; `taken` bytes of the submission were accepted."""

    taken: int = 0


class InvalidError(NativeError):
    """An argument is not what it must be."""


class ClosedError(NativeError):
    """No engine has this handle, or it has been closed."""


class WrongProcessError(NativeError):
    """The engine belongs to the process this one was forked from."""


class WrongStageError(NativeError):
    """The engine is not in the stage that the call is for."""


class TimedOutError(NativeError):
    """The deadline passed."""


class ConfigurationError(NativeError):
    """The configuration cannot work on this machine."""


class AddressInUseError(NativeError):
    """Somebody else listens on the address."""


class PermissionDeniedError(NativeError):
    """The operating system does not allow it."""


class RefusedError(NativeError):
    """The operating system refused."""


class PanicError(NativeError):
    """A fault of ours."""


_ERRORS: Final[Mapping[int, type[NativeError]]] = {
    lib.STATUS_BUSY: BusyError,
    lib.STATUS_INVALID: InvalidError,
    lib.STATUS_CLOSED: ClosedError,
    lib.STATUS_WRONG_PROCESS: WrongProcessError,
    lib.STATUS_WRONG_STAGE: WrongStageError,
    lib.STATUS_TIMEOUT: TimedOutError,
    lib.STATUS_CONFIGURATION: ConfigurationError,
    lib.STATUS_ADDRESS_IN_USE: AddressInUseError,
    lib.STATUS_PERMISSION: PermissionDeniedError,
    lib.STATUS_IO: RefusedError,
    lib.STATUS_PANIC: PanicError,
}


def _failure(result: int) -> NativeError:
    return _ERRORS.get(-result, NativeError)(_last_sentence())


def _checked(result: int) -> int:
    if result < 0:
        raise _failure(result)
    return result


def _lines(call: Any, *arguments: Any) -> dict[str, str]:
    """The lines of ``key=value`` that a call fills a buffer with."""
    capacity = _TEXT_BYTES
    needed = ffi.new("uint64_t *")
    while True:
        buffer = ffi.new("uint8_t[]", capacity)
        length = call(*arguments, buffer, capacity, needed)
        if length != -lib.STATUS_NEED:
            break
        capacity = needed[0]
    text = bytes(ffi.buffer(buffer, _checked(length))).decode()
    return {key: value for key, _, value in (line.partition("=") for line in text.splitlines())}


def describe() -> dict[str, str]:
    """What the native build is: package version, digest of its tables, profile."""
    return _lines(lib.describe)


def probe(path: Path) -> dict[str, str]:
    """What the machine and the directory at `path` offer."""
    name = str(path).encode()
    return _lines(lib.probe_host, name, len(name))


def describe_file(kind: str, position: int, file_length: int, piece: bytes) -> tuple[str, int, int]:
    """Lines of JSON about a piece of a file, where to go on, and how many bytes are wanted from there."""
    name = kind.encode()
    capacity = _TEXT_BYTES
    needed, following, wanted = ffi.new("uint64_t *"), ffi.new("uint64_t *"), ffi.new("uint64_t *")
    while True:
        buffer = ffi.new("uint8_t[]", capacity)
        length = lib.codec_describe_file(
            name,
            len(name),
            position,
            file_length,
            piece,
            len(piece),
            buffer,
            capacity,
            needed,
            following,
            wanted,
        )
        if length != -lib.STATUS_NEED:
            break
        capacity = needed[0]
    text = bytes(ffi.buffer(buffer, _checked(length))).decode()
    return text, int(following[0]), int(wanted[0])


class Decoded(NamedTuple):
    """What a call made of a piece of a segment."""

    rows: int
    consumed: int
    """Where the next call goes on."""
    after: int
    """The lowest offset that the next batch may begin at."""
    first_offset: int
    """The first offset that the next call wants."""
    stop: Stop
    wanted: int
    sentence: str
    """What is damaged."""
    places: tuple[int, ...]
    """Start and length of each buffer in the arena, in turn."""


class Rewritten(NamedTuple):
    """What a call copied of a piece of a segment."""

    written: bytes
    consumed: int
    after: int
    messages: int
    last_offset: int
    """2^64 - 1: none was kept."""
    stop: Stop
    wanted: int
    sentence: str


class Noted(NamedTuple):
    """What a call took into account of a piece of a segment."""

    identified: int
    """Messages that are about something."""
    consumed: int
    after: int
    messages: int
    stop: Stop
    wanted: int
    sentence: str


class Compacted(NamedTuple):
    """What a call left of a piece of a segment."""

    written: int
    """Bytes."""
    consumed: int
    after: int
    messages: int
    min_timestamp: int
    """2^64 - 1: nothing was kept."""
    max_timestamp: int
    stop: Stop
    wanted: int
    sentence: str


def arena_size(columns: int, rows: int, piece_length: int) -> int:
    """How many bytes `decode_columns` may need."""
    return _checked(lib.codec_arena_size(columns, rows, piece_length))


def decode_columns(piece: Buffer, asked: Sequence[int], key: bytes, arena: Buffer | None) -> Decoded:
    """Decodes batches to the columns that ten numbers ask for; `server_ng.segments.reader` says which."""
    told = ffi.new(f"uint64_t[{5 + 2 * len(Place)}]")
    room = ffi.NULL if arena is None else ffi.from_buffer(arena, require_writable=True)
    capacity = 0 if arena is None else len(room)
    data = ffi.from_buffer(piece)
    numbers = ffi.new("uint64_t[10]", list(asked))
    rows = _checked(lib.codec_decode(data, len(data), numbers, key, len(key), room, capacity, told))
    consumed, after, first_offset, stop, wanted, *places = told
    return Decoded(rows, consumed, after, first_offset, Stop(stop), wanted, _sentence(stop), tuple(places))


def seek_offset(piece: Buffer, asked: Sequence[int], offset: int) -> tuple[int | None, int, bool]:
    """Position of the last batch that begins at an offset or before, of the next header, whether to go on.

    Raises `InvalidError` where a header is damaged.
    """
    told = ffi.new("uint64_t[3]")
    data = ffi.from_buffer(piece)
    if _checked(lib.codec_seek(data, len(data), ffi.new("uint64_t[3]", list(asked)), offset, told)):
        raise InvalidError(_last_sentence())
    found, following, goes_on = told
    return None if found == (1 << 64) - 1 else found, following, bool(goes_on)


def rewrite_segment(piece: Buffer, asked: Sequence[int], kept: Buffer) -> Rewritten:
    """Copies batches with only the messages whose offsets are in `kept`, ascending, eight bytes each."""
    told = ffi.new("uint64_t[6]")
    data, offsets = ffi.from_buffer(piece), ffi.from_buffer(kept)
    room = _uncleared("uint8_t[]", max(len(data), 1))
    numbers = ffi.new("uint64_t[3]", list(asked))
    length = _checked(
        lib.codec_rewrite(data, len(data), numbers, offsets, len(offsets), room, len(data), ffi.NULL, told)
    )
    consumed, after, messages, last_offset, stop, wanted = told
    written = bytes(ffi.buffer(room, length))
    return Rewritten(written, consumed, after, messages, last_offset, Stop(stop), wanted, _sentence(stop))


def newest_begin(table: Buffer, seed: int) -> None:
    """Makes a table of bytes that are zero."""
    room = ffi.from_buffer(table, require_writable=True)
    _checked(lib.codec_newest_begin(room, len(room), seed))


def newest_add(piece: Buffer, asked: Sequence[int], key: bytes, table: Buffer) -> Noted:
    """Takes messages into account in a table; `asked` is the walk, and whether ids stand in for keys."""
    told = ffi.new("uint64_t[5]")
    data, room = ffi.from_buffer(piece), ffi.from_buffer(table, require_writable=True)
    numbers = ffi.new("uint64_t[4]", list(asked))
    identified = _checked(
        lib.codec_newest_add(data, len(data), numbers, key, len(key), room, len(room), told)
    )
    consumed, after, messages, stop, wanted = told
    return Noted(identified, consumed, after, messages, Stop(stop), wanted, _sentence(stop))


def newest_move(table: Buffer, larger: Buffer) -> None:
    """Moves a table into a larger one that is empty."""
    room, other = (ffi.from_buffer(each, require_writable=True) for each in (table, larger))
    _checked(lib.codec_newest_move(room, len(room), other, len(other)))


def newest_offsets(table: Buffer, horizon: int) -> Buffer:
    """The offsets of the newest messages, eight bytes each, less tombstones from before a time."""
    table_room = ffi.from_buffer(table, require_writable=True)
    # A message has a slot and an entry, which take more than four times as much.
    room = _uncleared("uint8_t[]", max(1, len(table_room) // 4))
    length = _checked(
        lib.codec_newest_offsets(table_room, len(table_room), horizon, room, len(room), ffi.NULL)
    )
    return bytes(ffi.buffer(room, length))


def compact_segment(
    piece: Buffer, asked: Sequence[int], key: bytes, newest: Buffer, room: Buffer
) -> Compacted:
    """Copies batches into `room`, which is as long as the piece, without messages that others replaced.

    `asked` is the walk, whether ids stand in for keys, and whether each offset is a message with an identity.
    """
    told = ffi.new("uint64_t[7]")
    data, offsets = ffi.from_buffer(piece), ffi.from_buffer(newest)
    into = ffi.from_buffer(room, require_writable=True)
    numbers = ffi.new("uint64_t[5]", list(asked))
    written = _checked(
        lib.codec_compact(
            data, len(data), numbers, key, len(key), offsets, len(offsets), into, len(into), told
        )
    )
    consumed, after, messages, least, greatest, stop, wanted = told
    return Compacted(written, consumed, after, messages, least, greatest, Stop(stop), wanted, _sentence(stop))


class Compared(NamedTuple):
    """How far a segment was found in another one."""

    halt: Halt
    consumed: int
    after: int
    passed: int
    whole_after: int
    messages: int
    since: int
    until: int
    wanted: int
    sentence: str


def compare_slices(slices: Buffer, whole: Buffer, asked: Sequence[int]) -> Compared:
    """Looks for each batch of a compacted segment in the one that it was made from."""
    told = ffi.new("uint64_t[8]")
    data, other = ffi.from_buffer(slices), ffi.from_buffer(whole)
    numbers = ffi.new("uint64_t[5]", list(asked))
    halt = Halt(_checked(lib.codec_compare(data, len(data), other, len(other), numbers, told)))
    consumed, after, passed, whole_after, messages, since, until, wanted = told
    sentence = _last_sentence() if halt is Halt.FOREIGN else ""
    return Compared(halt, consumed, after, passed, whole_after, messages, since, until, wanted, sentence)


def digest(piece: Buffer) -> bytes:
    """The checksum that a footer has of each MiB."""
    room = ffi.new("uint8_t[16]")
    data = ffi.from_buffer(piece)
    length = _checked(lib.codec_digest(data, len(data), room, 16, ffi.NULL))
    return bytes(ffi.buffer(room, length))


def read_footer(piece: Buffer) -> tuple[tuple[int, ...], bytes, list[bytes]]:
    """Ten numbers, its checksum and the digest of each MiB; raises `InvalidError` for what is no footer."""
    told, needed = ffi.new("uint64_t[10]"), ffi.new("uint64_t *")
    data = ffi.from_buffer(piece)
    capacity = len(data)
    room = _uncleared("uint8_t[]", max(capacity, 1))
    length = _checked(lib.codec_read_footer(data, len(data), room, capacity, needed, told))
    sums = bytes(ffi.buffer(room, length))
    return tuple(told), sums[:16], [sums[at : at + 16] for at in range(16, length, 16)]


def write_footer(numbers: Sequence[int], digests: Sequence[bytes]) -> tuple[bytes, bytes]:
    """Checksum and bytes of a footer."""
    capacity = 1024 + 16 * len(digests)
    room = _uncleared("uint8_t[]", capacity)
    joined = b"".join(digests)
    asked = ffi.new("uint64_t[10]", list(numbers))
    length = _checked(lib.codec_write_footer(asked, joined, len(joined), room, capacity, ffi.NULL))
    written = bytes(ffi.buffer(room, length))
    return written[:16], written[16:]


def _last_sentence() -> str:
    buffer = ffi.new("uint8_t[]", _TEXT_BYTES)
    length = lib.engine_last_error(buffer, _TEXT_BYTES, ffi.NULL)
    return bytes(ffi.buffer(buffer, max(length, 0))).decode(errors="replace")


def _sentence(stop: int) -> str:
    return _last_sentence() if stop == Stop.DAMAGED else ""


def recover_directory(path: Path, accepted: Sequence[str]) -> list[tuple[str, str, str]]:
    """Name, word and meaning of what a data directory has lost; accepts these names if any are given.

    Without a name: it is refused, with the status to end with and the reason.
    """
    name, names = str(path).encode(), "\n".join(accepted).encode()
    capacity = _TEXT_BYTES
    needed = ffi.new("uint64_t *")
    while True:
        buffer = ffi.new("uint8_t[]", capacity)
        length = lib.recover_directory(name, len(name), names, len(names), buffer, capacity, needed)
        if length != -lib.STATUS_NEED:
            break
        capacity = needed[0]
    lines = bytes(ffi.buffer(buffer, _checked(length))).decode().splitlines()
    return list(zip(lines[::3], lines[1::3], lines[2::3], strict=True))


def open_engine(settings: str) -> int:
    """Opens an engine with lines of ``key=value`` and returns its handle."""
    handle = ffi.new("uint64_t *")
    encoded = settings.encode()
    _checked(lib.engine_open(encoded, len(encoded), handle))
    return int(handle[0])


def describe_engine(handle: int) -> dict[str, str]:
    """Bound addresses and the chosen backend of an open engine."""
    return _lines(lib.engine_describe, handle)


def notify_fd(handle: int) -> int:
    """The eventfd that is readable when there is something to drain."""
    return _checked(lib.engine_notify_fd(handle))


def start(handle: int) -> None:
    """Starts the engine's threads and returns at once."""
    _checked(lib.engine_start(handle))


def submit(handle: int, records: bytes) -> None:
    """Hands whole records to the first shard; `BusyError.taken` says how many bytes of them went in."""
    taken = ffi.new("uint64_t *")
    result = lib.engine_submit(handle, records, len(records), taken)
    if result < 0:
        error = _failure(result)
        if isinstance(error, BusyError):
            error.taken = int(taken[0])
        raise error


def drain(handle: int) -> tuple[bytes, bool]:
    """Whole records from the engine, and whether more are waiting. Doubles as a sign of life."""
    capacity = _DRAIN_BYTES
    needed = ffi.new("uint64_t *")
    while True:
        buffer = _uncleared("uint8_t[]", capacity)
        length = _checked(lib.engine_drain(handle, buffer, capacity, needed))
        if length or not needed[0]:
            return bytes(ffi.buffer(buffer, length)), bool(needed[0])
        capacity = needed[0]


def metrics(handle: int) -> list[int]:
    """Every shard's cells, shard by shard."""
    needed = ffi.new("uint64_t *")
    lib.engine_metrics(handle, ffi.NULL, 0, needed)
    cells = ffi.new("uint64_t[]", needed[0])
    _checked(lib.engine_metrics(handle, cells, needed[0], needed))
    return list(cells)


def stop(handle: int) -> None:
    """Begins an orderly stop and returns at once."""
    _checked(lib.engine_stop(handle))


def join(handle: int, timeout_ms: int) -> bool:
    """Waits for the engine's threads; returns whether they ended in order. Not for the event loop."""
    return bool(_checked(lib.engine_join(handle, timeout_ms)))


def close(handle: int) -> None:
    """Closes an engine whose threads have ended, or never began."""
    _checked(lib.engine_close(handle))


def _shake_hands() -> None:
    """Resolves every symbol now, not at its first call, and compares what both halves believe."""
    try:
        for symbol in _SYMBOLS:
            getattr(lib, symbol)
    except AttributeError as error:
        raise HandshakeError(
            f"the native library has no such function: {error}; rebuild with `make`"
        ) from error
    if lib.abi_version() != ABI_VERSION:
        raise HandshakeError(
            f"the native library has boundary version {lib.abi_version()}, this code {ABI_VERSION}; "
            "rebuild with `make`"
        )
    tables = int(describe()["tables"], 16)
    if tables != TABLES_DIGEST:
        raise HandshakeError(
            f"the native library has tables {tables:016x}, this code {TABLES_DIGEST:016x}; "
            "run `make generate` and rebuild with `make`"
        )


_shake_hands()
