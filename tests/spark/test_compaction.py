"""Topics compacted, against a dictionary: the newest message of each key, in the bytes it was sent in."""

import json
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server_ng.segments.columns import Selection
from server_ng.segments.lease import SegmentCut
from server_ng.segments.reader import SegmentReader
from server_ng.segments.verify import verify
from server_ng.spark.command import main
from server_ng.spark.compact import engines
from server_ng.spark.compact.job import CompactionReport, run
from server_ng.spark.compact.merging import OUTPUTS
from server_ng.spark.compact.partition import Compacted
from server_ng.spark.compact.rules import Rules
from server_ng.spark.cutter import CutRefusedError, Cutter, HeldLease
from server_ng.spark.errors import FencedError
from server_ng.spark.meter import untold
from server_ng.wire.tables import Columns, Place
from tests.spark.cutting_server import CuttingServer
from tests.support.lease_files import Message, WrittenSegment, header_field, headers, segment

PARTITIONS = {0: 7, 1: 8}
SMALL = Rules(segment_bytes=3_000, tombstones_after=0)
TRUE = header_field(2, b"tombstone") + header_field(3, b"\x01")

History = list[list[list[tuple[int | None, bool]]]]
"""Segments of batches of messages: key, and whether it is deleted."""


def keyed(offset: int, key: int | None, *, deleted: bool) -> Message:
    """A message that is told from every other."""
    found = b"" if key is None else headers({"key": b"key %d" % key})
    return Message(offset, b"payload %d" % offset, found + (TRUE if deleted else b""), identity=offset % 5)


def written(
    history: History, partition: int = 0, *, active: bool = True, gap: int = 2
) -> list[WrittenSegment]:
    """The segments of a partition, `gap` offsets between batches; the last one is still written to."""
    found, at = [], 3
    for number, batches in enumerate(history):
        messages = []
        for batch in batches:
            messages.append([keyed(at + n, key, deleted=dead) for n, (key, dead) in enumerate(batch)])
            at += len(batch) + gap
        sealed = not active or number + 1 < len(history)
        found.append(segment(messages, partition=partition, group=PARTITIONS[partition], sealed=sealed))
    return found


def frames(directory: Path, cuts: Sequence[SegmentCut], partition: int) -> list[tuple[Any, ...]]:
    """Offset, time, value, user headers and id of every message."""
    wanted = Columns.OFFSET | Columns.TIMESTAMP | Columns.VALUE | Columns.USER_HEADERS | Columns.ID
    found = []
    for cut in cuts:
        with SegmentReader(directory, cut, partition) as reader:
            for rows in reader.columns(Selection(wanted)):
                offsets = rows.buffer(Place.OFFSET)[: 8 * rows.rows].cast("Q")
                times = rows.buffer(Place.TIMESTAMP)[: 8 * rows.rows].cast("Q")
                ends = [
                    rows.buffer(place)[: 4 * (rows.rows + 1)].cast("I")
                    for place in (Place.VALUE_ENDS, Place.USER_HEADERS_ENDS, Place.ID_ENDS)
                ]
                data = [bytes(rows.buffer(place)) for place in (Place.VALUE, Place.USER_HEADERS, Place.ID)]
                for row in range(rows.rows):
                    texts = (text[end[row] : end[row + 1]] for text, end in zip(data, ends, strict=True))
                    found.append((offsets[row], times[row], *texts))
    return found


def survivors(
    all_messages: list[tuple[Any, ...]], sealed: list[tuple[Any, ...]], rules: Rules
) -> list[tuple[Any, ...]]:
    """What must be left of the sealed ones when every tombstone may go."""

    def about(row: tuple[Any, ...]) -> tuple[int, bytes] | None:
        key = row[3].removesuffix(TRUE)
        if key:
            return 0, key
        return (1, row[4]) if rules.deduplicate else None

    newest = {about(row): row[0] for row in all_messages}

    def stays(row: tuple[Any, ...]) -> bool:
        found = about(row)
        gone = found is not None and found[0] == 0 and row[3].endswith(TRUE)
        return found is None or (newest[found] == row[0] and not gone)

    return [row for row in sealed if stays(row)]


def compacted(server: CuttingServer, rules: Rules) -> CompactionReport:
    """One job of this process, in a lease of its own."""
    cutter = Cutter(server.control)
    leased = cutter.cut("orders", "events", seconds=60)
    try:
        return run(leased, rules, engines.local, cutter, untold)
    finally:
        cutter.release(leased.lease.lease)


def held(server: CuttingServer) -> HeldLease:
    return Cutter(server.control).cut("orders", "events", seconds=60)


def histories(keys: st.SearchStrategy[int | None]) -> st.SearchStrategy[History]:
    """Some segments of some batches."""
    messages = st.lists(st.tuples(keys, st.booleans()), min_size=1, max_size=8)
    return st.lists(st.lists(messages, min_size=1, max_size=4), min_size=1, max_size=6)


SOME_KEYED = histories(st.none() | st.integers(0, 6))
ALL_KEYED = histories(st.integers(0, 6))


@given(first=SOME_KEYED, second=ALL_KEYED, deduplicate=st.booleans(), gap=st.sampled_from([0, 2]))
@settings(deadline=None, max_examples=30)
@pytest.mark.timeout(180)
def test_the_newest_message_of_each_key_is_left(
    tmp_path_factory: pytest.TempPathFactory, first: History, second: History, deduplicate: bool, gap: int
) -> None:
    folder = tmp_path_factory.mktemp("compaction")
    rules = Rules(segment_bytes=3_000, tombstones_after=0, deduplicate=deduplicate)
    with CuttingServer(folder) as server:
        server.holds({0: written(first, gap=gap), 1: written(second, 1, gap=gap)}, groups=PARTITIONS)
        before = held(server)
        compacted(server, rules)
        after = held(server)
        for old, new in zip(before.lease.partitions, after.lease.partitions, strict=True):
            number = old.partition
            everything = frames(before.path, old.segments, number)
            sealed = frames(before.path, old.segments[:-1], number)
            expected = survivors(everything, sealed, rules)
            found = frames(after.path, new.segments[:-1], number)
            assert set(expected) <= set(found) <= set(sealed)
            assert found == sorted(found)
            extra = [row for row in found if row not in expected]
            # A segment is never empty: one that would be keeps a message, or a tombstone, for another time.
            assert not extra or (not expected and old.segments[:-1])
            assert (new.first_offset, new.commit_offset) == (old.first_offset, old.commit_offset)
            for each in new.segments:
                verify(after.path, each, number)
        again = compacted(server, rules)
        last = held(server)
        assert again.adopted == 0 or frames(last.path, last.lease.partitions[0].segments, 0) == frames(
            after.path, after.lease.partitions[0].segments, 0
        )


def test_batches_of_which_nothing_stays_are_not_read_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    payload = bytes(2_000)
    batches = [
        [Message(at + n, payload, headers({"key": b"%d" % n}), identity=n) for n in range(200)]
        for at in range(0, 4_000, 200)
    ]
    sealed = segment(batches, partition=0, group=PARTITIONS[0], sealed=True)
    active = segment([[keyed(4_000, 9, deleted=False)]], partition=0, group=PARTITIONS[0], sealed=False)
    read: list[int] = []
    preadv = os.preadv

    def counted(descriptor: int, buffers: Sequence[memoryview], position: int) -> int:
        read.append(preadv(descriptor, buffers, position))
        return read[-1]

    with CuttingServer(tmp_path) as server:
        server.holds({0: [sealed, active], 1: []}, groups=PARTITIONS)
        # What is mapped is asked for in the same pieces.
        monkeypatch.setattr("server_ng.segments.pieces._MAPPED_FROM", math.inf)
        monkeypatch.setattr("server_ng.segments.pieces.os.preadv", counted)
        compacted(server, SMALL)
        # Once for the survey; then a piece, the header of each batch behind it, and the last one whole.
        assert sum(read) < 1.25 * sealed.cut.bytes
        leased = held(server)
        (kept, _) = leased.lease.partitions[0].segments
        assert [row[0] for row in frames(leased.path, [kept], 0)] == list(range(3_800, 4_000))


EVERY_KEY: History = [[[(key, False) for key in range(5)]] for _ in range(4)]


def test_an_older_message_goes_whose_newer_one_is_in_the_segment_that_is_written_to(tmp_path: Path) -> None:
    with CuttingServer(tmp_path) as server:
        server.holds({0: written([*EVERY_KEY, [[(9, False)]]]), 1: []}, groups=PARTITIONS)
        report = compacted(server, SMALL)
        assert (report.adopted, report.total["messages_after"]) == (1, 5)
        leased = held(server)
        (kept, active) = leased.lease.partitions[0].segments
        assert [row[0] for row in frames(leased.path, [kept], 0)] == list(range(24, 29))
        assert (kept.generation, kept.first_offset, kept.last_offset) == (1, 3, 28)
        assert active.generation == 0
        server.holds({0: written([*EVERY_KEY, EVERY_KEY[0]]), 1: []}, groups=PARTITIONS)
        compacted(server, SMALL)
        leased = held(server)
        (kept, _) = leased.lease.partitions[0].segments
        assert [row[0] for row in frames(leased.path, [kept], 0)] == [28]


def test_a_tombstone_stays_for_its_time_and_goes_only_with_what_it_deletes(tmp_path: Path) -> None:
    history: History = [[[(1, False), (2, False)]], [[(1, True), (None, False)]], [[(3, False)]]]
    with CuttingServer(tmp_path) as server:
        server.holds({0: written(history), 1: []}, groups=PARTITIONS)
        compacted(server, Rules(segment_bytes=3_000, tombstones_after=86_500))
        leased = held(server)
        assert [row[0] for row in frames(leased.path, leased.lease.partitions[0].segments[:-1], 0)] == [
            4,
            7,
            8,
        ]
        compacted(server, SMALL)
        leased = held(server)
        assert [row[0] for row in frames(leased.path, leased.lease.partitions[0].segments[:-1], 0)] == [4, 8]


def test_the_second_of_two_jobs_on_one_range_is_fenced(tmp_path: Path) -> None:
    with CuttingServer(tmp_path) as server:
        server.holds({0: written([*EVERY_KEY, [[(9, False)]]]), 1: []}, groups=PARTITIONS)
        cutter = Cutter(server.control)
        late = held(server)
        compacted(server, SMALL)
        (fenced,) = run(late, SMALL, engines.local, cutter, untold).fenced
        assert fenced.startswith("partition 0, offsets 3 to 28: another job")
        assert not (late.path / OUTPUTS).exists()
        inner = held(server)

        def twice(*_: object) -> Iterator[Compacted]:
            run(inner, SMALL, engines.local, cutter, untold)
            yield from ()

        with pytest.raises(FencedError, match="another job works on the lease"):
            run(inner, SMALL, twice, cutter, untold)


def test_a_partition_that_is_fenced_leaves_the_others_to_the_job(tmp_path: Path) -> None:
    class First(Dying):
        def adopt(self, *offered: Any) -> None:
            if offered[1] == 0:
                raise CutRefusedError("fenced", "Gone.")
            self._cutter.adopt(*offered)

    with CuttingServer(tmp_path) as server:
        both: History = [*EVERY_KEY, [[(9, False)]]]
        server.holds({0: written(both), 1: written(both, partition=1)}, groups=PARTITIONS)
        report = run(held(server), SMALL, engines.local, First(Cutter(server.control), 9), untold)
        assert [sentence.partition(",")[0] for sentence in report.fenced] == ["partition 0"]
        assert server.adopted == report.adopted > 0


class Crash(BaseException):
    """The process is gone."""


class Dying:
    """A server that sees the job die after so many adoptions."""

    def __init__(self, cutter: Cutter, adoptions: int) -> None:
        self._cutter, self._left = cutter, adoptions

    def adopt(self, *offered: Any) -> None:
        if not self._left:
            raise Crash
        self._left -= 1
        self._cutter.adopt(*offered)


@pytest.mark.parametrize("adoptions", [0, 1, 2, 5, 7])
def test_a_job_that_dies_leaves_whole_segments_and_no_older_message_comes_back(
    tmp_path: Path, adoptions: int
) -> None:
    shared: list[list[tuple[int | None, bool]]] = [
        [(key, key == 0 and at == 3) for key in range(5)] for at in range(5)
    ]
    own: list[list[tuple[int | None, bool]]] = [
        [(100 * at + number, False) for number in range(40)] for at in range(5)
    ]
    large: History = [[shared[at][:4], own[at], shared[at][4:]] for at in range(4)]
    large.append([[(9, False)]])
    with CuttingServer(tmp_path) as server:
        server.holds({0: written(large), 1: written(large, 1)}, groups=PARTITIONS)
        leased = held(server)
        with pytest.raises(Crash):
            run(leased, SMALL, engines.local, Dying(Cutter(server.control), adoptions), untold)
        assert server.adopted == adoptions
        middle = held(server)
        for cut in middle.lease.partitions:
            found = frames(middle.path, cut.segments, cut.partition)
            newest = {row[3].removesuffix(TRUE): row for row in found}
            everything = frames(leased.path, leased.lease.partitions[cut.partition].segments, cut.partition)
            expected = {row[3].removesuffix(TRUE): row for row in everything}
            lost = {key: row for key, row in expected.items() if newest.get(key) != row}
            assert all(key not in newest and row[3].endswith(TRUE) for key, row in lost.items())
        assert compacted(server, SMALL).adopted == 8 - adoptions
        assert compacted(server, SMALL).adopted == 0


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with CuttingServer(tmp_path) as server:
        server.holds({0: written([*EVERY_KEY, [[(9, False)]]]), 1: []}, groups=PARTITIONS)
        command = ["compact", "--control", str(server.control), "--topic", "orders/events", "--json"]
        assert main([*command, "--dry-run", "--segment-size", "3KiB"]) == 0
        assert lines(capsys)[-1] == {
            "partitions": 1,
            "segments": 4,
            "segments_after": 1,
            "messages": 20,
            "messages_after": 5,
            "bytes": sum(each.cut.bytes for each in written(EVERY_KEY)),
            "bytes_after": None,
            "adopted": 0,
        }
        assert server.adopted == 0
        server.refusal = None
        assert main([*command, "--tombstones-after", "7d"]) == 0
        said = lines(capsys)
        assert (said[-1]["adopted"], said[0]["partition"], said[0]["segments_after"]) == (1, 0, 1)
        assert main(command) == 3
        assert "as it should be" in lines(capsys)[0]["reason"]
        assert server.held() == []
        for wrong in (
            ["--key", "payload"],
            ["--engine", "tasks"],
            ["--older-than", "soon"],
            ["--segment-size", "0"],
        ):
            assert main([*command, *wrong]) == 78
        assert main([*command, "--key-memory", "1KiB"]) in (3, 78)


def test_a_lease_by_a_relative_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with CuttingServer(tmp_path) as server:
        server.holds({0: written([*EVERY_KEY, [[(9, False)]]])}, groups=PARTITIONS)
        leased = held(server)
        (tmp_path / "runtime").mkdir()
        (tmp_path / "runtime" / "control.sock").symlink_to(server.control)
        monkeypatch.chdir(leased.path)
        assert main(["compact", "--lease", "."]) == 0
        assert server.adopted == 1


@pytest.mark.parametrize(
    ("kind", "status"),
    [("fenced", 4), ("unknown_lease", 4), ("bad_output", 6), ("busy", 75), ("cluster", 78)],
)
def test_what_the_server_answers_is_the_exit_status(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    status: int,
) -> None:
    def refuses(*_: object) -> None:
        raise CutRefusedError(kind, "Not so.")

    monkeypatch.setattr(Cutter, "adopt", refuses)
    monkeypatch.setattr("server_ng.spark.compact.adopting.sleep", lambda _: None)
    with CuttingServer(tmp_path) as server:
        server.holds({0: written([*EVERY_KEY, [[(9, False)]]]), 1: []}, groups=PARTITIONS)
        command = ["compact", "--control", str(server.control), "--topic", "orders/events"]
        assert main(command) == status
        assert "Not so." in capsys.readouterr().err
        assert server.held() == []


def test_a_partition_that_is_busy_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("server_ng.spark.compact.adopting.sleep", pauses.append)

    class Busy(Dying):
        def adopt(self, *offered: Any) -> None:
            if len(pauses) < 3:
                raise CutRefusedError("busy", "Later.")
            self._cutter.adopt(*offered)

    with CuttingServer(tmp_path) as server:
        server.holds({0: written([*EVERY_KEY, [[(9, False)]]]), 1: []}, groups=PARTITIONS)
        report = run(held(server), SMALL, engines.local, Busy(Cutter(server.control), 0), untold)
    assert (report.adopted, pauses) == (1, [1.0] * 3)


def test_keys_that_take_more_memory_than_there_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history: History = [[[(key, False) for key in range(3_000)]], [[(1, False)]]]
    with CuttingServer(tmp_path) as server:
        server.holds({0: written(history), 1: []}, groups=PARTITIONS)
        command = ["compact", "--control", str(server.control), "--topic", "orders/events"]
        assert main([*command, "--key-memory", "64KiB"]) == 78
        assert "--engine shuffle" in capsys.readouterr().err
        assert main([*command, "--key-memory", "1MiB"]) == 0


def test_keys_that_take_more_memory_than_a_table_can_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("server_ng.segments.newest.KEY_TABLE_BYTES_MAX", 64 << 10)
    with CuttingServer(tmp_path) as server:
        server.holds(
            {0: written([[[(key, False) for key in range(3_000)]], [[(1, False)]]]), 1: []}, groups=PARTITIONS
        )
        command = ["compact", "--control", str(server.control), "--topic", "orders/events"]
        assert main([*command, "--key-memory", "1024GiB"]) == 78
        assert "more than 65536 bytes" in capsys.readouterr().err


def test_damage_ends_the_job_and_nothing_is_adopted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = written([*EVERY_KEY, [[(9, False)]]])
    rotten = bytearray(found[2].content)
    rotten[300] ^= 1
    found[2].content = bytes(rotten)
    with CuttingServer(tmp_path) as server:
        server.holds({0: found, 1: []}, groups=PARTITIONS)
        assert main(["compact", "--control", str(server.control), "--topic", "orders/events"]) == 6
        assert "is damaged at byte 0" in capsys.readouterr().err
        assert (server.adopted, server.held()) == (0, [])
