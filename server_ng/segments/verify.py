"""Whether a segment is what its cut says: every checksum, every bound, and the footer of a sealed one."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from server_ng import binding
from server_ng.segments.columns import Selection
from server_ng.segments.damage import DamagedSegmentError
from server_ng.segments.footer import DIGEST_SPAN, read_footer
from server_ng.segments.lease import SegmentCut
from server_ng.segments.reader import SegmentReader
from server_ng.wire.tables import Columns

__all__ = ["Verified", "verify"]


@dataclass(frozen=True, slots=True)
class Verified:
    """What was found to be right."""

    messages: int
    bytes: int


def verify(directory: Path, cut: SegmentCut, partition: int) -> Verified:
    """Reads all of a segment; raises `DamagedSegmentError` at the first thing that is not as it must be."""
    path = directory / cut.path
    with SegmentReader(directory, cut, partition) as reader:
        messages = sum(rows.rows for rows in reader.columns(Selection(Columns(0))))
    if messages != cut.messages:
        reason = f"it has {messages} messages, and not {cut.messages}"
        raise DamagedSegmentError(path, cut.bytes, cut.last_offset, reason)
    if cut.digest is not None:
        _check_digests(path, cut, read_footer(path, cut).digests)
    return Verified(messages, cut.bytes)


def _check_digests(path: Path, cut: SegmentCut, digests: Sequence[bytes]) -> None:
    with path.open("rb") as file:
        for number, expected in enumerate(digests):
            start = number * DIGEST_SPAN
            if binding.digest(file.read(min(DIGEST_SPAN, cut.bytes - start))) != expected:
                raise DamagedSegmentError(path, start, cut.first_offset, "a MiB does not fit its digest")
