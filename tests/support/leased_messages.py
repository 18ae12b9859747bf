"""What a lease holds, by its manifest and files alone."""

from pathlib import Path

from server_ng.segments.lease import Lease
from tests.support.topic_client import Message, messages_in

__all__ = ["leased_messages"]


def leased_messages(path: Path) -> dict[int, list[Message]]:
    """The messages of each partition; every figure of the manifest is held against them."""
    found = {}
    for cut in Lease.read(path).partitions:
        messages: list[Message] = []
        for segment in cut.segments:
            content = (path / segment.path).read_bytes()[: segment.bytes]
            held = list(messages_in(memoryview(content)))
            assert (held[0].offset, held[-1].offset, len(held)) == (
                segment.first_offset,
                segment.last_offset,
                segment.messages,
            )
            messages += held
        assert cut.commit_offset == (messages[-1].offset if messages else None)
        found[cut.partition] = messages
    return found
