"""Slots: the lowest free number, against a set."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server_ng.metadata.rows import BadRowsError
from server_ng.metadata.slots import Slots


@given(turns=st.lists(st.tuples(st.booleans(), st.integers(0, 11)), max_size=60))
def test_the_lowest_free_slot_is_found(turns: list[tuple[bool, int]]) -> None:
    slots, taken = Slots(12), set[int]()
    for takes, slot in turns:
        if takes:
            slots.take(slot)
            taken.add(slot)
        else:
            slots.free(slot)
            taken.discard(slot)
        free = set(range(12)) - taken
        assert slots.lowest_free() == min(free, default=None)


def test_full_words_are_passed_over() -> None:
    slots = Slots(1 << 20)
    for slot in range(5_000):
        assert slots.lowest_free() == slot
        slots.take(slot)
    slots.free(2_047)
    assert slots.lowest_free() == 2_047
    slots.take(2_047)
    assert slots.lowest_free() == 5_000


def test_a_slot_beyond_the_range_is_refused() -> None:
    with pytest.raises(BadRowsError):
        Slots(12).take(12)
