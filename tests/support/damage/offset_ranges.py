"""Which file of a data directory holds which offsets."""

from pathlib import Path

from tests.support.damage.ledger import Ledger, PartitionKey
from tests.support.damage.recovery import inspect_topic
from tests.support.damage.template import OffsetRange

__all__ = ["offset_ranges"]


def offset_ranges(data: Path, ledger: Ledger) -> dict[str, OffsetRange]:
    """The offsets of each segment by its relative path; the directory of a group stands for its partition."""
    ranges = {}
    for place in dict.fromkeys(key.place for key in ledger.partitions):
        for row in inspect_topic(data, place)[1]["partitions"]:
            key = PartitionKey(place.stream, place.topic, row["partition"])
            next_offset = ledger.partitions[key].next_offset
            for segment in row["segments"]:
                path = Path(segment["file"]).relative_to(data)
                last = segment["last_offset"] if segment["sealed"] else next_offset - 1
                ranges[str(path)] = OffsetRange(key, segment["first_offset"], last)
                ranges[str(path.parent)] = OffsetRange(key, 0, next_offset - 1)
    return ranges
