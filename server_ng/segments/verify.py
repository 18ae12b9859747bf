"""Whether a segment is what its cut says: every checksum, every bound, and the footer of a sealed one."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from server_ng import binding
from server_ng.segments.columns import Columns, Selection
from server_ng.segments.damage import DamagedSegmentError
from server_ng.segments.lease import SegmentCut
from server_ng.segments.reader import SegmentReader

__all__ = ["Verified", "verify"]

_PAGE: Final = 4096
_DIGEST_SPAN: Final = 1 << 20


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
        _check_footer(path, cut, cut.digest)
    return Verified(messages, cut.bytes)


def _check_footer(path: Path, cut: SegmentCut, digest: str) -> None:
    position = (cut.bytes + _PAGE - 1) // _PAGE * _PAGE
    with path.open("rb") as file:
        file.seek(position)
        found = file.read(_PAGE + 16 * (cut.bytes // _DIGEST_SPAN + 1))
        try:
            numbers, checksum, digests = binding.read_footer(found)
        except binding.InvalidError as error:
            raise DamagedSegmentError(path, position, cut.last_offset, str(error)) from error
        said = (numbers[1], numbers[2], numbers[3], numbers[6], numbers[7], numbers[8], numbers[9])
        wanted = (
            cut.first_offset,
            cut.last_offset,
            cut.messages,
            cut.bytes,
            cut.min_timestamp,
            cut.max_timestamp,
            cut.generation,
        )
        if checksum.hex() != digest or said != wanted:
            reason = f"its footer {checksum.hex()} is not the {digest} of the manifest, or says other things"
            raise DamagedSegmentError(path, position, cut.last_offset, reason)
        for number, expected in enumerate(digests):
            start = number * _DIGEST_SPAN
            file.seek(start)
            if binding.digest(file.read(min(_DIGEST_SPAN, cut.bytes - start))) != expected:
                raise DamagedSegmentError(path, start, cut.first_offset, "a MiB does not fit its digest")
