"""What leases hold: each segment once, however many have it."""

from hypothesis import given
from hypothesis import strategies as st

from server_ng.leases.ledger import Ledger
from server_ng.segments.lease import Lease, PartitionCut, SegmentCut


def segment(number: int, size: int) -> SegmentCut:
    """A segment of a size."""
    return SegmentCut(f"g/{number:020}.log", 0, size, number, number, 1, 1, 1, None)


def lease(name: str, segments: dict[int, int]) -> Lease:
    """A lease of one partition: sizes of segments by number."""
    held = tuple(segment(number, size) for number, size in sorted(segments.items()))
    cut = PartitionCut(0, "0" * 16, 0, 0, max(segments, default=None), held)
    return Lease(name, "0" * 32, "stream", "topic", 1, (cut,))


SEGMENTS = st.dictionaries(st.integers(0, 4), st.integers(1, 100), max_size=4)


@given(held=st.lists(SEGMENTS, max_size=6), goes=st.data())
def test_the_sum_is_that_of_the_longest_of_each_segment(
    held: list[dict[int, int]], goes: st.DataObject
) -> None:
    ledger = Ledger()
    there: dict[str, dict[int, int]] = {}

    def expected() -> int:
        numbers = {number for segments in there.values() for number in segments}
        return sum(max(segments.get(number, 0) for segments in there.values()) for number in numbers)

    for count, segments in enumerate(held):
        name = str(count)
        there[name] = segments
        assert ledger.bytes_with(lease(name, segments)) == expected()
        ledger.add(lease(name, segments), count)
        assert ledger.bytes == expected()
    for name in goes.draw(st.permutations(sorted(there))):
        del there[name]
        ledger.remove(name)
        assert ledger.bytes == expected()
    assert len(ledger) == 0


def test_leases_end_in_the_order_of_their_time() -> None:
    ledger = Ledger()
    for name, expires in (("b", 20), ("a", 10), ("c", 30)):
        ledger.add(lease(name, {}), expires)
    assert ledger.next_expiry() == 10
    assert ledger.expired(9) == []
    assert sorted(ledger.expired(20)) == ["a", "b"]
