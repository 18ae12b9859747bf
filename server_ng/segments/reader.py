"""Segments read in pieces of a bounded size; every batch is verified before its messages are rows."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self, TypeAlias, TypeVar

from server_ng import binding
from server_ng.segments.columns import DecodedColumns, Selection
from server_ng.segments.damage import DamagedSegmentError
from server_ng.segments.lease import SegmentCut
from server_ng.segments.pieces import Pieces
from server_ng.wire.tables import Stop

Skipped: TypeAlias = Callable[[DamagedSegmentError, tuple[int, int]], None]
"""Told what is damaged, and which offsets are lost with it: from the first, below the second."""

__all__ = ["BATCH_ROWS", "PIECE_BYTES", "SegmentReader", "Step", "decode"]


class Step(Protocol):
    """What a native call made of a piece."""

    @property
    def consumed(self) -> int:
        """Bytes that it is done with; more than the piece has, if headers told it enough."""

    @property
    def after(self) -> int:
        """The lowest offset that the next batch may begin at."""

    @property
    def stop(self) -> Stop:
        """Why it ended."""

    @property
    def wanted(self) -> int:
        """Bytes that it needs."""

    @property
    def sentence(self) -> str:
        """What is damaged."""


StepT = TypeVar("StepT", bound=Step)

PIECE_BYTES: Final = 8 << 20
"""Read at a time, and so the bound of what one step yields."""
BATCH_ROWS: Final = 32_768
_PROBE_BYTES: Final = 64 << 10
_MESSAGE_BYTES_MIN: Final = 48
_HEADER_BYTES: Final = 256
_ANY_OFFSET: Final = (1 << 64) - 1


class SegmentReader:
    """One segment of a cut, open. Nothing behind its valid bytes is looked at."""

    def __init__(self, directory: Path, cut: SegmentCut, partition: int) -> None:
        self._path = directory / cut.path
        self._cut = cut
        self._partition = partition
        self._pieces = Pieces(self._path, cut.bytes)
        self._after = cut.first_offset
        """No message of a lower offset is still to come."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pieces.close()

    def columns(
        self,
        selection: Selection,
        *,
        allocate: Callable[[int], Any] = bytearray,
        piece_bytes: int = PIECE_BYTES,
        rows: int = BATCH_ROWS,
        skipped: Skipped | None = None,
    ) -> Iterator[DecodedColumns]:
        """The wanted messages, in order; raises `DamagedSegmentError` where the next one should be.

        With `skipped`, which is told what is lost, it goes on behind the damage as far as headers lead.
        """
        cut = self._cut
        position, after, first = self._seek(selection.first_offset), cut.first_offset, selection.first_offset
        wanted = 0
        while position < cut.bytes:
            piece = self._read(position, max(piece_bytes, wanted))
            while True:
                strange = self._out_of_time(piece)
                if strange is not None:
                    break
                asked = (cut.bytes - position, after, self._partition)
                decoded, arena = decode(piece, asked, replace(selection, first_offset=first), allocate, rows)
                piece = piece[decoded.consumed :]
                position += decoded.consumed
                after, first = decoded.after, decoded.first_offset
                self._after = max(after, selection.first_offset)
                if decoded.rows:
                    yield DecodedColumns(decoded.rows, arena, decoded.places)
                if decoded.stop != Stop.FULL:
                    break
            if strange is not None or decoded.stop == Stop.DAMAGED:
                reason = strange or decoded.sentence
                damage = DamagedSegmentError(self._path, position, after, reason)
                if skipped is None:
                    raise damage
                position, next_offset = self._behind(position, after)
                lost = max(after, selection.first_offset), min(next_offset, selection.end_offset)
                after = next_offset
                if lost[0] < lost[1]:
                    skipped(damage, lost)
                wanted = 0
            elif decoded.stop == Stop.END:
                break
            else:
                wanted = decoded.wanted
        if skipped is None:
            self._check_end(position, after)

    def steps(
        self, take: Callable[[memoryview, tuple[int, int, int]], StepT], *, piece_bytes: int = PIECE_BYTES
    ) -> Iterator[StepT]:
        """Gives all batches to a native call, piece by piece, and where each stands; yields what it says.

        A call that stops because it is full is made again with what is left.
        """
        cut = self._cut
        position, after, length = 0, cut.first_offset, piece_bytes
        while position < cut.bytes:
            piece = self._read(position, length)
            while True:
                if (strange := self._out_of_time(piece)) is not None:
                    raise DamagedSegmentError(self._path, position, after, strange)
                step = take(piece, (cut.bytes - position, after, self._partition))
                unread = max(0, step.consumed - len(piece))
                piece = piece[step.consumed :]
                position += step.consumed
                after = step.after
                yield step
                if step.stop != Stop.FULL:
                    break
            if step.stop == Stop.DAMAGED:
                raise DamagedSegmentError(self._path, position, after, step.sentence)
            if step.stop == Stop.END:
                break
            if not unread:
                length = max(piece_bytes, step.wanted)
            else:
                # What follows may be passed over, too: where batches are long its header is enough.
                length = _PROBE_BYTES if unread < _PROBE_BYTES else _HEADER_BYTES
        self._check_end(position, after)

    def _out_of_time(self, piece: memoryview) -> str | None:
        """Why the batch in front is not of this cut: batches of another topic may have these offsets."""
        cut, timestamp = self._cut, int.from_bytes(piece[16:24], "little")
        if len(piece) < _HEADER_BYTES or cut.min_timestamp <= timestamp <= cut.max_timestamp:
            return None
        return f"a batch of {timestamp} is not from between {cut.min_timestamp} and {cut.max_timestamp}"

    def _check_end(self, position: int, after: int) -> None:
        """A compacted segment stands for offsets behind its last message, too."""
        cut = self._cut
        whole = after <= cut.last_offset + 1 if cut.generation else after == cut.last_offset + 1
        if position == cut.bytes and not whole:
            reason = f"the segment ends before offset {after}, and not with offset {cut.last_offset}"
            raise DamagedSegmentError(self._path, position, after, reason)

    def _seek(self, offset: int) -> int:
        """The position of the batch that holds an offset, or where it would be; in front of any damage."""
        position = found = 0
        goes_on = offset > self._cut.first_offset
        while goes_on and position < self._cut.bytes:
            piece = self._read(position, _PROBE_BYTES)
            asked = (self._cut.bytes - position, self._cut.first_offset, self._partition)
            try:
                here, following, goes_on = binding.seek_offset(piece, asked, offset)
            except binding.InvalidError:
                # Whoever reads on from there meets it, and knows what it is and which offsets are lost.
                return found
            found = found if here is None else position + here
            position += following
        return found

    def _behind(self, position: int, after: int) -> tuple[int, int]:
        """Where the next batch begins behind one that is damaged, and with which offset.

        Only headers that fit their place are followed: anything else could be part of a payload.
        """
        cut = self._cut
        nowhere = cut.bytes, cut.last_offset + 1
        length = self._length(position, after)
        position += length
        if not length or position >= cut.bytes or not self._length(position, after):
            return nowhere
        next_offset = int.from_bytes(self._read(position, _HEADER_BYTES)[8:16], "little")
        return (position, next_offset) if after <= next_offset <= cut.last_offset else nowhere

    def _length(self, position: int, after: int) -> int:
        """Of the batch at a position, by its header; 0 if that does not fit there."""
        asked = (self._cut.bytes - position, after, self._partition)
        try:
            here, length, _ = binding.seek_offset(self._read(position, _HEADER_BYTES), asked, _ANY_OFFSET)
        except binding.InvalidError:
            return 0
        return 0 if here is None else length

    def _read(self, position: int, length: int) -> memoryview:
        """Valid bytes from a position on, at most so many; they stay what they are until the next call."""
        length = min(length, self._cut.bytes - position)
        piece = self._pieces.read(position, length)
        if len(piece) < length:
            reason = f"the file ends, but {self._cut.bytes} bytes of it are valid"
            raise DamagedSegmentError(self._path, position + len(piece), self._after, reason)
        return piece


def decode(
    piece: memoryview,
    walk: tuple[int, int, int],
    selection: Selection,
    allocate: Callable[[int], Any],
    rows: int,
) -> tuple[binding.Decoded, Any]:
    """What becomes of a piece, and the memory that its columns are in, if any is wanted."""
    rows = min(rows, len(piece) // _MESSAGE_BYTES_MIN + 1)
    size = binding.arena_size(selection.columns, rows, len(piece))
    arena = allocate(size) if size else None
    asked = (
        *walk,
        selection.hashed,
        selection.columns,
        rows,
        selection.first_offset,
        selection.end_offset,
        selection.min_timestamp,
        selection.max_timestamp,
    )
    return binding.decode_columns(piece, asked, selection.key.encode(), arena), arena
