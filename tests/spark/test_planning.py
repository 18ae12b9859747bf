"""Plans without Spark: pieces tile what is wanted, whatever is wanted."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server_ng.segments.lease import Lease, PartitionCut, SegmentCut
from server_ng.spark.errors import DataLossError, TopicChangedError
from server_ng.spark.limits import Limits
from server_ng.spark.options import EARLIEST, LATEST
from server_ng.spark.pacing import by_bytes, by_rows, rows_between
from server_ng.spark.planning import Scan, pack, ranges, scans
from server_ng.spark.progress import Point, Progress, advanced, between

NAMES = {"stream": "s", "topic": "t"}


def cut_of(number: int, lengths: list[int], base: int = 0) -> PartitionCut:
    """A partition with segments of so many offsets, and a gap of 2 between them."""
    segments, at = [], base
    for length in lengths:
        last = at + length - 1
        segments.append(SegmentCut(f"{number}/{at}.log", 0, length * 100, at, last, length, at, last, None))
        at = last + 3
    commit = segments[-1].last_offset if segments else None
    return PartitionCut(number, f"{number:016x}", 0, base, commit, tuple(segments))


def lease_of(*cuts: PartitionCut) -> Lease:
    return Lease("l", "0" * 32, "s", "t", 0, cuts)


def offsets_of(found: list[Scan]) -> list[tuple[int, int]]:
    return [
        (scan.partition, offset) for scan in found for offset in range(scan.first_offset, scan.end_offset)
    ]


lengths = st.lists(st.integers(1, 30), max_size=4)


@given(
    shapes=st.lists(lengths, max_size=4),
    bytes_max=st.integers(1, 5_000),
    rows_max=st.none() | st.integers(1, 40),
    tasks_min=st.none() | st.integers(1, 10),
    first=st.integers(0, 60),
    end=st.integers(0, 130),
)
def test_tasks_hold_each_wanted_offset_once_and_in_order(
    shapes: list[list[int]],
    bytes_max: int,
    rows_max: int | None,
    tasks_min: int | None,
    first: int,
    end: int,
) -> None:
    lease = lease_of(*(cut_of(number, shape) for number, shape in enumerate(shapes)))
    wanted = ranges(lease, {}, {}, start_everywhere=first, end_everywhere=end, strict=False)
    tasks = pack(scans(wanted, Limits(), NAMES), bytes_max=bytes_max, rows_max=rows_max, tasks_min=tasks_min)
    every = [
        (cut.partition, offset)
        for cut in lease.partitions
        for segment in cut.segments
        for offset in range(segment.first_offset, segment.last_offset + 1)
        if first <= offset < end
    ]
    assert [place for task in tasks for place in offsets_of(list(task))] == every
    for task in tasks:
        rows = sum(scan.end_offset - scan.first_offset for scan in task)
        assert rows_max is None or rows <= rows_max
        assert len(task) == 1 or sum(scan.bytes for scan in task) <= bytes_max


def test_the_last_offsets_that_there_are() -> None:
    top = (1 << 63) - 1
    segment = SegmentCut("p", 0, 1 << 30, top - 10, top - 1, 10, 0, 1 << 64 - 1, None)
    cut = PartitionCut(0, "0" * 16, 0, top - 10, top - 1, (segment,))
    wanted = ranges(lease_of(cut), {}, {}, start_everywhere=EARLIEST, end_everywhere=LATEST, strict=True)
    tasks = pack(scans(wanted, Limits(), NAMES), bytes_max=1 << 28)
    assert [place for task in tasks for _, place in offsets_of(list(task))] == list(range(top - 10, top))


@given(
    shapes=st.lists(lengths, min_size=1, max_size=4),
    begins=st.integers(0, 50),
    rows=st.integers(1, 100),
)
def test_a_pace_is_kept_and_gets_somewhere(shapes: list[list[int]], begins: int, rows: int) -> None:
    cuts = [cut_of(number, shape) for number, shape in enumerate(shapes)]
    starts = {cut.partition: min(begins, cut.end_offset) for cut in cuts}
    left = rows_between(starts, cuts)
    for ends in (by_rows(starts, cuts, rows), by_bytes(starts, cuts, rows)):
        taken = sum(ends[cut.partition] - starts[cut.partition] for cut in cuts)
        assert all(starts[cut.partition] <= ends[cut.partition] <= cut.end_offset for cut in cuts)
        assert taken > 0 or not left
    taken = sum(by_rows(starts, cuts, rows)[cut.partition] - starts[cut.partition] for cut in cuts)
    assert taken == min(rows, left)


def test_progress_survives_its_checkpoint() -> None:
    progress = Progress("c" * 32, {0: Point("0" * 16, 2**64 - 1, 2**63), 10: Point("1" * 16, 0, 0)})
    assert Progress.of(progress.plain()) == progress


def test_a_batch_over_a_topic_that_changed_again_is_empty_when_it_may_begin_anew() -> None:
    old = cut_of(0, [5])
    new = replace(old, purge_generation=1)
    start = advanced(Progress("", {}), lease_of(old), {0: 2})
    end = advanced(start, lease_of(old), {0: 5})
    assert between(start, end, lease_of(new), strict=True, restart=True) == []
    (whole,) = between(
        start, advanced(start, lease_of(new), {0: 5}), lease_of(new), strict=True, restart=True
    )
    assert (whole.first, whole.end) == (0, 5)


def test_progress_never_goes_back() -> None:
    start = Progress("0" * 32, {0: Point(f"{0:016x}", 0, 200)})
    older = lease_of(cut_of(0, [100]), cut_of(1, [5]))
    end = advanced(start, older, {0: 100, 1: 5})
    assert {partition: point.offset for partition, point in end.points.items()} == {0: 200, 1: 5}
    (one,) = between(start, end, older, strict=True, restart=False)
    assert (one.cut.partition, one.first, one.end) == (1, 0, 5)


def test_partitions_that_a_lease_lacks_stay_where_they_were() -> None:
    start = Progress("0" * 32, {0: Point(f"{0:016x}", 0, 5), 1: Point(f"{1:016x}", 0, 7)})
    part = replace(lease_of(cut_of(0, [9])), whole=False)
    end = advanced(start, part, {0: 9})
    assert {partition: point.offset for partition, point in end.points.items()} == {0: 9, 1: 7}
    (one,) = between(start, end, part, strict=True, restart=False)
    assert (one.first, one.end) == (5, 9)
    with pytest.raises(DataLossError, match="partition 1 of s/t was deleted"):
        between(start, end, replace(part, whole=True), strict=True, restart=False)


def test_the_same_groups_of_another_cluster_are_begun_anew() -> None:
    cut = cut_of(0, [9])
    start = Progress("1" * 32, {0: Point(cut.group_id, 0, 5)})
    end = advanced(start, lease_of(cut), {0: 9})
    (whole,) = between(start, end, lease_of(cut), strict=True, restart=True)
    assert (whole.first, whole.end) == (0, 9)
    assert between(start, start, lease_of(cut), strict=True, restart=True) == []
    with pytest.raises(TopicChangedError, match="is of cluster 0000"):
        between(start, end, lease_of(cut), strict=True, restart=False)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (
            [("GreaterThan", "offset", 5), ("LessThanOrEqual", "offset", 9)],
            Limits(first_offset=6, end_offset=10),
        ),
        ([("EqualTo", "offset", 2**64)], Limits(first_offset=2**64, end_offset=2**63 - 1)),
        ([("In", "partition", [1, 2]), ("EqualTo", "partition", 2)], Limits(partitions=frozenset({2}))),
        ([("EqualTo", "topic", "t")], Limits(names=(("topic", "t"),))),
    ],
)
def test_filters_narrow(filters: list[tuple[str, str, object]], expected: Limits) -> None:
    limits = Limits()
    for kind, column, value in filters:
        narrowed = limits.narrowed(kind, (column,), value)
        assert narrowed is not None
        limits = narrowed
    assert limits == expected


@pytest.mark.parametrize(
    ("kind", "column", "value"),
    [("EqualTo", "offset", 1.5), ("In", "offset", [1]), ("EqualTo", "key", b"k"), ("Not", "offset", None)],
)
def test_what_only_spark_can_judge_is_left_to_it(kind: str, column: str, value: object) -> None:
    assert Limits().narrowed(kind, (column,), value) is None
