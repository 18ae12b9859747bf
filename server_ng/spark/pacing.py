"""How much of what is there one micro-batch takes. Pure."""

from collections.abc import Mapping, Sequence

from server_ng.segments.lease import PartitionCut

__all__ = ["by_bytes", "by_rows", "rows_between"]


def rows_between(begins: Mapping[int, int], cuts: Sequence[PartitionCut]) -> int:
    """At most so many messages: offsets may have gaps."""
    return sum(max(0, cut.end_offset - max(begins[cut.partition], cut.first_offset)) for cut in cuts)


def by_rows(begins: Mapping[int, int], cuts: Sequence[PartitionCut], rows: int) -> dict[int, int]:
    """Ends that take at most so many offsets, each partition in proportion to what it has."""
    firsts = {cut.partition: max(begins[cut.partition], cut.first_offset) for cut in cuts}
    left = {cut.partition: max(0, cut.end_offset - firsts[cut.partition]) for cut in cuts}
    total = sum(left.values())
    if total <= rows:
        return {partition: firsts[partition] + count for partition, count in left.items()}
    shares = {partition: count * rows // total for partition, count in left.items()}
    spare = rows - sum(shares.values())
    for partition, count in left.items():
        extra = min(spare, count - shares[partition])
        shares[partition] += extra
        spare -= extra
    return {partition: firsts[partition] + shares[partition] for partition in left}


def by_bytes(begins: Mapping[int, int], cuts: Sequence[PartitionCut], bytes_: int) -> dict[int, int]:
    """The same by bytes, as if all messages of what is left were equally long; one message at least."""
    total = sum(_bytes_behind(begins[cut.partition], cut) for cut in cuts)
    rows = rows_between(begins, cuts)
    return by_rows(begins, cuts, max(1, rows * bytes_ // max(total, 1)) if total > bytes_ else rows)


def _bytes_behind(offset: int, cut: PartitionCut) -> int:
    found = 0
    for segment in cut.segments:
        whole = segment.last_offset - segment.first_offset + 1
        left = min(whole, max(0, segment.last_offset + 1 - offset))
        found += segment.bytes * left // whole
    return found
