"""Segments of a lease, read through the native codec: right rows, or the file and place of what is wrong."""

import math
import pickle
import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from xxhash import xxh3_128_digest

from server_ng import binding
from server_ng.segments.columns import Selection
from server_ng.segments.damage import DamagedSegmentError, SegmentReadError
from server_ng.segments.lease import SegmentCut
from server_ng.segments.reader import SegmentReader
from server_ng.segments.verify import Verified, verify
from server_ng.wire.tables import Columns, Place
from tests.support.lease_files import Message, WrittenSegment, segment, write_lease

OFFSETS = Selection(Columns.OFFSET)


@pytest.fixture(params=[1, math.inf], ids=["mapped", "copied"], autouse=True)
def mapped_from(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether pieces are mapped, whatever their lengths are and their folder lies on."""
    monkeypatch.setattr("server_ng.segments.pieces._MAPPED_FROM", request.param)
    monkeypatch.setattr("server_ng.segments.pieces.os.major", lambda _: 8)


def many(batches: int, messages: int, *, gap: int = 0) -> WrittenSegment:
    """So many batches of so many messages, with a gap behind each batch."""
    return segment(
        [
            [Message(at * (messages + gap) + index, b"%d" % index * (index % 9)) for index in range(messages)]
            for at in range(batches)
        ]
    )


def offsets(directory: Path, cut: SegmentCut, selection: Selection, piece_bytes: int, rows: int) -> list[int]:
    found: list[int] = []
    with SegmentReader(directory, cut, 0) as reader:
        for columns in reader.columns(selection, piece_bytes=piece_bytes, rows=rows):
            data = columns.buffer(Place.OFFSET)[: 8 * columns.rows]
            assert columns.rows <= rows
            found.extend(struct.unpack(f"<{columns.rows}q", data))
    return found


@pytest.mark.parametrize(("piece_bytes", "rows"), [(1, 1_000), (300, 7), (1 << 20, 13), (1 << 20, 1_000)])
def test_ranges_in_pieces_of_any_size(tmp_path: Path, piece_bytes: int, rows: int) -> None:
    written = many(30, 20, gap=3)
    write_lease(tmp_path, {0: [written]})
    every = [at * 23 + index for at in range(30) for index in range(20)]
    assert offsets(tmp_path, written.cut, OFFSETS, piece_bytes, rows) == every
    for first, end in [(0, 1), (5, 300), (22, 24), (333, 690), (689, 10_000), (700, 800)]:
        part = replace(OFFSETS, first_offset=first, end_offset=end)
        wanted = [offset for offset in every if first <= offset < end]
        assert offsets(tmp_path, written.cut, part, piece_bytes, rows) == wanted, (first, end)


def test_a_range_at_the_end_reads_headers_alone_before_it(tmp_path: Path) -> None:
    written = many(30, 20)
    write_lease(tmp_path, {0: [written]})
    path = tmp_path / written.cut.path
    rotten = bytearray(path.read_bytes())
    rotten[300] ^= 1
    path.write_bytes(rotten)
    assert offsets(tmp_path, written.cut, replace(OFFSETS, first_offset=590), 4096, 100) == [*range(590, 600)]


def test_damage_is_told_by_file_and_place(tmp_path: Path) -> None:
    written = many(4, 5)
    write_lease(tmp_path, {0: [written]})
    path = tmp_path / written.cut.path
    third = sum(len(piece) for piece in batches_of(written)[:2])
    rotten = bytearray(path.read_bytes())
    rotten[third + 256] ^= 1
    path.write_bytes(rotten)
    with pytest.raises(DamagedSegmentError, match="checksum") as caught:
        offsets(tmp_path, written.cut, OFFSETS, 1 << 20, 100)
    assert (caught.value.path, caught.value.offset) == (path, 10)
    assert caught.value.position == third
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


def batches_of(written: WrittenSegment) -> list[bytes]:
    found, at = [], 0
    while at < written.cut.bytes:
        (length,) = struct.unpack_from("<Q", written.content, at + 32)
        found.append(written.content[at : at + length])
        at += length
    return found


def test_a_file_that_was_cut_is_damage_at_every_length(tmp_path: Path) -> None:
    written = many(3, 4)
    write_lease(tmp_path, {0: [written]})
    path = tmp_path / written.cut.path
    ends = [0]
    for piece in batches_of(written):
        ends.append(ends[-1] + len(piece))
    for length in range(written.cut.bytes):
        path.write_bytes(written.content[:length])
        found: list[int] = []
        with (
            SegmentReader(tmp_path, written.cut, 0) as reader,
            pytest.raises(DamagedSegmentError, match="file ends"),
        ):
            found.extend(columns.rows for columns in reader.columns(OFFSETS))
        assert not found, length


def test_every_flipped_byte_is_found(tmp_path: Path) -> None:
    written = many(2, 3)
    write_lease(tmp_path, {0: [written]})
    path = tmp_path / written.cut.path
    assert verify(tmp_path, written.cut, 0) == Verified(6, written.cut.bytes)
    footer = -(-written.cut.bytes // 4096) * 4096
    for position in [*range(written.cut.bytes), *range(footer, footer + 144)]:
        flipped = bytearray(written.content)
        flipped[position] ^= 0x40
        path.write_bytes(flipped)
        with pytest.raises(DamagedSegmentError):
            verify(tmp_path, written.cut, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"messages": 5},
        {"last_offset": 7},
        {"first_offset": 1},
        {"digest": "0" * 32},
        {"max_timestamp": 1 << 60},
        {"digest": None, "max_timestamp": 1},
        {"digest": None, "min_timestamp": 1 << 60, "max_timestamp": 1 << 61},
    ],
)
def test_a_manifest_that_says_something_else_is_told(tmp_path: Path, change: dict[str, object]) -> None:
    written = many(2, 3)
    write_lease(tmp_path, {0: [written]})
    with pytest.raises(DamagedSegmentError):
        verify(tmp_path, replace(written.cut, **change), 0)  # type: ignore[arg-type]
    with pytest.raises(DamagedSegmentError, match="partition"):
        verify(tmp_path, written.cut, 1)


def test_a_missing_file_and_a_link_are_refused(tmp_path: Path) -> None:
    written = many(1, 1)
    with pytest.raises(SegmentReadError, match="cannot be opened"):
        SegmentReader(tmp_path, written.cut, 0)
    write_lease(tmp_path, {0: [written]})
    path = tmp_path / written.cut.path
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SegmentReadError, match="cannot be opened"):
        SegmentReader(tmp_path, written.cut, 0)


class TestCodec:
    """What the boundary itself refuses."""

    ASKED = (0, 0, 0, 1, 4, 10, 0, 1, 0, 1)

    def test_absurd_requests_are_invalid(self) -> None:
        for columns, rows, length in [(512, 1, 1), (1, 0, 1), (1, 1 << 25, 1), (1, 1, 1 << 40)]:
            with pytest.raises(binding.InvalidError):
                binding.arena_size(columns, rows, length)

    def test_an_arena_that_is_too_short_is_told(self) -> None:
        with pytest.raises(binding.NativeError, match="must hold"):
            binding.decode_columns(b"x" * 100, self.ASKED, b"header:key", bytearray(3))
        with pytest.raises(binding.InvalidError, match="no rule of keys"):
            binding.decode_columns(b"x" * 100, self.ASKED, b"key", bytearray(1_000))

    def test_bytes_that_are_no_table(self) -> None:
        with pytest.raises(binding.InvalidError, match="too small"):
            binding.newest_begin(bytearray(100), 1)
        for wrong in (bytearray(4096), bytearray(b"\xff" * 4096)):
            with pytest.raises(binding.InvalidError, match="no table"):
                binding.newest_offsets(wrong, 0)
            with pytest.raises(binding.InvalidError, match="no table"):
                binding.newest_add(b"", (0, 0, 0, 0), b"id", wrong)
        table, full = bytearray(8192), bytearray(1024)
        binding.newest_begin(table, 1)
        binding.newest_begin(full, 1)
        written = segment([[Message(offset, identity=offset) for offset in range(20)]])
        piece, asked = written.content[: written.cut.bytes], (written.cut.bytes, 0, 0, 0)
        noted = binding.newest_add(piece, asked, b"id", table)
        assert (noted.messages, noted.identified, noted.stop) == (20, 20, 0)
        assert binding.newest_offsets(table, 0) == struct.pack("<20Q", *range(20))
        assert binding.newest_add(piece, asked, b"id", full).stop == 2
        with pytest.raises(binding.InvalidError, match="too small"):
            binding.newest_move(table, full)

    def test_survivors_are_copied_frame_by_frame(self) -> None:
        written = many(3, 4)
        kept = struct.pack("<3Q", 1, 2, 9)
        done = binding.rewrite_segment(written.content[: written.cut.bytes], (written.cut.bytes, 0, 0), kept)
        assert (done.messages, done.last_offset, done.stop, done.consumed) == (3, 9, 0, written.cut.bytes)
        first, _, third = batches_of(written)
        frames = first[256:]
        assert done.written[256:].startswith(frames[frames_end(frames, 1) : frames_end(frames, 3)])
        assert len(done.written) == 2 * 256 + sum(frame_lengths(frames)[1:3]) + frame_lengths(third[256:])[1]

    def test_footers_survive_their_bytes(self) -> None:
        numbers = (7, 1, 9, 5, 2, 4, (1 << 20) + 5, 100, 200, 3)
        digests = [xxh3_128_digest(b"one"), xxh3_128_digest(b"two")]
        checksum, footer = binding.write_footer(numbers, digests)
        assert binding.read_footer(footer.ljust(4096, b"\0")) == (numbers, checksum, digests)
        assert binding.digest(b"one") == digests[0]
        with pytest.raises(binding.InvalidError):
            binding.read_footer(footer[:-1])


def frame_lengths(frames: bytes) -> list[int]:
    lengths, at = [], 0
    while at < len(frames):
        headers, payload = struct.unpack_from("<II", frames, at + 32)
        lengths.append(48 + headers + payload)
        at += lengths[-1]
    return lengths


def frames_end(frames: bytes, count: int) -> int:
    return sum(frame_lengths(frames)[:count])


def test_one_message_of_every_column(tmp_path: Path) -> None:
    message = Message(3, b"payload", b"no headers", identity=1 << 100, origin=9)
    written = segment([[message]])
    write_lease(tmp_path, {0: [written]})
    with SegmentReader(tmp_path, written.cut, 0) as reader:
        (columns,) = reader.columns(Selection(Columns(511)))

    def texts(ends: Place, data: Place) -> Sequence[bytes]:
        stops = struct.unpack("<2I", columns.buffer(ends)[:8])
        return [bytes(columns.buffer(data)[stops[0] : stops[1]])]

    assert texts(Place.VALUE_ENDS, Place.VALUE) == [b"payload"]
    assert texts(Place.ID_ENDS, Place.ID) == [(1 << 100).to_bytes(16, "big")]
    assert texts(Place.USER_HEADERS_ENDS, Place.USER_HEADERS) == [b"no headers"]
    assert columns.buffer(Place.HEADERS_VALID)[0] == 0
    assert columns.buffer(Place.KEY_VALID)[0] == 0
    assert columns.buffer(Place.TOMBSTONE)[0] == 0
