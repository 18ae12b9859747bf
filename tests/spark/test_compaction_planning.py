"""Which segments are rewritten: plans from figures alone."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server_ng.segments.lease import SegmentCut
from server_ng.spark.compact.planning import INPUTS_MAX, PartitionPlan, plan
from server_ng.spark.compact.rules import Rules
from server_ng.spark.compact.survey import Tally

CUT_AT = 1_000_000_000
PER_MESSAGE = 100
RULES = Rules(segment_bytes=1_000, tombstones_after=0)


def tallies_of(lives: list[tuple[int, int]], tombstones: int = 0) -> list[Tally]:
    """Segments of so many messages, of which so many stay; all have keys. Some that go are tombstones."""
    found, at = [], 0
    for number, (messages, live) in enumerate(lives):
        last = at + messages - 1
        segment = SegmentCut(
            f"{at}.log", 0, messages * PER_MESSAGE, at, last, messages, number, number, "0" * 32
        )
        found.append(Tally(segment, messages, last, live, live + min(tombstones, messages - live)))
        at = last + 1
    return found


def runs(lives: list[tuple[int, int]], rules: Rules = RULES) -> list[list[int]]:
    """The numbers of the segments of each run."""
    tallies = tallies_of(lives)
    number = {tally.segment: at for at, tally in enumerate(tallies)}
    return [[number[segment] for segment in run.inputs] for run in plan(tallies, rules, CUT_AT).runs]


@pytest.mark.parametrize(
    ("lives", "expected"),
    [
        ([], []),
        ([(10, 10)], []),
        ([(10, 9)], [[0]]),
        ([(3, 3), (3, 3), (3, 3)], [[0, 1, 2]]),
        ([(8, 8), (2, 2)], []),
        ([(8, 8), (3, 2)], [[1]]),
        ([(8, 7), (3, 2)], [[0, 1]]),
        ([(10, 5), (10, 5), (10, 5)], [[0, 1], [2]]),
        ([(10, 0), (20, 20)], [[0, 1]]),
        ([(20, 20), (10, 0)], [[0, 1]]),
        ([(10, 10), (10, 4), (10, 10)], [[1]]),
        ([(1, 0)], []),
        ([(5, 0)], [[0]]),
        ([(1, 0), (1, 0)], [[0, 1]]),
    ],
)
def test_runs(lives: list[tuple[int, int]], expected: list[list[int]]) -> None:
    assert runs(lives) == expected


@given(st.lists(st.integers(1, 30).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), max_size=20))
def test_what_is_planned_is_in_order_and_all_of_it(lives: list[tuple[int, int]]) -> None:
    found = runs(lives)
    numbers = [number for run in found for number in run]
    assert numbers == sorted(set(numbers))
    for run in found:
        assert run == list(range(run[0], run[-1] + 1))
    left = set(range(len(lives))) - set(numbers)
    assert all(lives[number][0] == max(1, lives[number][1]) for number in left)


@given(st.lists(st.integers(1, 30).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), max_size=20))
def test_a_second_job_finds_less_to_do(lives: list[tuple[int, int]]) -> None:
    rounds = 0
    while found := runs(lives):
        after = []
        for number, each in enumerate(lives):
            starts = [run for run in found if run[0] == number]
            if starts:
                live = max(1, sum(lives[member][1] for member in starts[0]))
                dead = sum(lives[member][1] for member in starts[0]) == 0
                after.append((live, live - dead))
            elif not any(number in run for run in found):
                after.append(each)
        lives = after
        rounds += 1
        assert rounds <= 3


def one(tallies: list[Tally], rules: Rules = RULES) -> PartitionPlan:
    return plan(tallies, rules, CUT_AT)


def test_a_run_in_which_nothing_stays_keeps_its_last_message_and_every_tombstone() -> None:
    (run,) = one(tallies_of([(5, 0), (5, 0)])).runs
    assert (run.messages, run.placeholder) == (1, 9)
    planned = one(tallies_of([(5, 0), (5, 0)], tombstones=1))
    assert planned.tombstones
    assert [(run.messages, run.placeholder) for run in planned.runs] == [(2, None)]
    assert not one(tallies_of([(5, 1), (5, 0)], tombstones=1)).tombstones


def test_bounds() -> None:
    young = replace(RULES, older_than=CUT_AT / 1e6)
    assert runs([(9, 5), (9, 5)], young) == [[0]]
    assert one(tallies_of([(9, 5), (9, 5)]), young).reason == "the messages behind are too young"
    assert "segment_size (1 GiB by default)" in one([]).reason
    assert runs([(10, 9), (10, 9), (10, 9)], replace(RULES, bytes_max=2_000)) == [[0], [1]]
    assert runs([(10, 9), (10, 9)], replace(RULES, bytes_max=1)) == [[0]]
    assert runs([(10, 9), (10, 10)], replace(RULES, dirty_min=0.05)) == [[0]]
    assert runs([(10, 9), (10, 10)], replace(RULES, dirty_min=0.06)) == []
    assert (
        "1 of 20 messages would go"
        in one(tallies_of([(10, 9), (10, 10)]), replace(RULES, dirty_min=0.06)).reason
    )


def test_an_adoption_names_no_more_segments_than_it_may() -> None:
    found = runs([(1, 1)] * (INPUTS_MAX + 2), replace(RULES, segment_bytes=1 << 40))
    assert [len(run) for run in found] == [INPUTS_MAX, 2]
