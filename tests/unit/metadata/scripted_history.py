"""One long history, as a program: writes a digest of the outcomes and one of the rows it ends with."""

import sys
from collections.abc import Iterator
from hashlib import blake2b

from server_ng.metadata.deltas import encode_deltas
from server_ng.wire.options import Option, ValueKind
from server_ng.wire.requests import (
    CreatePartitions,
    CreateStream,
    CreateTopic,
    DeletePartitions,
    DeleteStream,
    DeleteTopic,
    PurgeStream,
    PurgeTopic,
    UpdateStream,
    UpdateTopic,
)
from tests.support.metadata_log import MetadataLog, Request, rows_digest

_OPTIONS = (
    Option("segment_size", ValueKind.TEXT, b"8 MiB"),
    Option("enforce_fsync", ValueKind.BOOL, b"\x01"),
    Option("compression_algorithm", ValueKind.TEXT, b"gzip"),
)


def history() -> Iterator[Request]:
    """Everything that can be done, on streams and topics that are made out of order."""
    for stream in range(6):
        yield CreateStream(f"stream-{stream}")
        for topic in range(5):
            yield CreateTopic(stream, 3 + topic, f"topic-{topic}", _OPTIONS[: topic % 4])
    yield DeleteStream("stream-4")
    yield DeleteStream("stream-1")
    for topic in (3, 0):
        yield DeleteTopic(2, topic)
    for name in ("again", "stream-1"):
        yield CreateStream(name)
        yield CreateTopic(name, 1_000, "topic-2")
    for topic in range(3):
        yield CreateTopic("stream-2", 2, f"new-{topic}")
    yield UpdateStream("again", "again-renamed")
    yield UpdateTopic(3, 1, "renamed", (Option("message_expiry", ValueKind.TEXT, b"7 days"), _OPTIONS[2]))
    yield PurgeStream("stream-2")
    yield PurgeTopic(0, "topic-3")
    yield CreatePartitions(0, 0, 9)
    yield DeletePartitions(0, 0, 4)
    yield DeletePartitions("again-renamed", 0, 999)
    yield CreateStream("stream-0")


def main() -> None:
    """Applies the history."""
    log, outcomes = MetadataLog(), blake2b()
    for request in history():
        outcome = log.do(request)
        outcomes.update(f"{outcome.result} {outcome.reply} {outcome.stream} {outcome.topic}".encode())
        outcomes.update(encode_deltas(outcome.deltas))
    sys.stdout.write(f"{outcomes.hexdigest()} {rows_digest(log.machine.state)}\n")


if __name__ == "__main__":
    main()
