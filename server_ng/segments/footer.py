"""The footer of a sealed segment: what it says must be what the manifest says."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from server_ng import binding
from server_ng.segments.damage import DamagedSegmentError, SegmentReadError
from server_ng.segments.lease import SegmentCut

__all__ = ["DIGEST_SPAN", "PAGE", "Footer", "encode_footer", "read_footer"]

PAGE: Final = 4096
DIGEST_SPAN: Final = 1 << 20
"""Bytes that one digest covers."""


@dataclass(frozen=True, slots=True)
class Footer:
    """What seals a segment."""

    group: int
    base_offset: int
    last_offset: int
    messages: int
    first_op: int
    """0: nobody knows."""
    last_op: int
    batch_bytes: int
    min_timestamp: int
    max_timestamp: int
    generation: int
    digests: Sequence[bytes]
    """Of each MiB."""

    @classmethod
    def of(cls, numbers: Sequence[int], digests: Sequence[bytes]) -> Self:
        """From the numbers of the native library."""
        group, base, last, messages, first_op, last_op, batch_bytes, least, greatest, generation = numbers
        return cls(
            group=group,
            base_offset=base,
            last_offset=last,
            messages=messages,
            first_op=first_op,
            last_op=last_op,
            batch_bytes=batch_bytes,
            min_timestamp=least,
            max_timestamp=greatest,
            generation=generation,
            digests=digests,
        )

    def numbers(self) -> tuple[int, ...]:
        """In the order of the native library."""
        return (
            self.group,
            self.base_offset,
            self.last_offset,
            self.messages,
            self.first_op,
            self.last_op,
            self.batch_bytes,
            self.min_timestamp,
            self.max_timestamp,
            self.generation,
        )


def encode_footer(footer: Footer) -> tuple[str, bytes]:
    """The checksum that names it, 32 digits, and its bytes."""
    checksum, content = binding.write_footer(footer.numbers(), footer.digests)
    return checksum.hex(), content


def read_footer(path: Path, cut: SegmentCut) -> Footer:
    """The footer of a segment that is sealed; raises `DamagedSegmentError` if it is not that of its cut."""
    position = -(-cut.bytes // PAGE) * PAGE
    try:
        with path.open("rb") as file:
            file.seek(position)
            found = file.read(PAGE + 16 * (cut.bytes // DIGEST_SPAN + 1))
    except OSError as error:
        raise SegmentReadError(path, f"its footer: {error.strerror}") from error
    try:
        numbers, checksum, digests = binding.read_footer(found)
    except binding.InvalidError as error:
        raise DamagedSegmentError(path, position, cut.last_offset, str(error)) from error
    footer = Footer.of(numbers, digests)
    wanted = (
        cut.first_offset,
        cut.last_offset,
        cut.messages,
        cut.bytes,
        cut.min_timestamp,
        cut.max_timestamp,
    )
    said = (
        footer.base_offset,
        footer.last_offset,
        footer.messages,
        footer.batch_bytes,
        footer.min_timestamp,
        footer.max_timestamp,
    )
    if checksum.hex() != cut.digest or said != wanted or footer.generation != cut.generation:
        reason = f"its footer {checksum.hex()} is not the {cut.digest} of the manifest, or says other things"
        raise DamagedSegmentError(path, position, cut.last_offset, reason)
    return footer
