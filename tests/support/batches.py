"""Batches of messages as a producer writes them, made from the byte tables and not by the product."""

import struct
from collections.abc import Sequence

from xxhash import xxh3_64_intdigest

__all__ = ["BATCH_HEADER_BYTES", "batch", "by_number", "name8", "number", "send_body"]

BATCH_HEADER_BYTES = 256
_COUNTED = struct.Struct("<QQQQQ")
_MESSAGE = struct.Struct("<QQIIIIQ")


def number(value: int) -> bytes:
    """An identifier that is a number."""
    return struct.pack("<BBI", 1, 4, value)


def name8(text: str) -> bytes:
    """A name behind its length."""
    encoded = text.encode()
    return struct.pack("<B", len(encoded)) + encoded


def by_number(partition: int) -> bytes:
    """The choice of one partition."""
    return struct.pack("<BBI", 2, 4, partition)


def _message(index: int, payload: bytes, identity: int) -> bytes:
    low, high = identity & (1 << 64) - 1, identity >> 64
    rest = _MESSAGE.pack(low, high, index, 0, 0, len(payload), 0) + payload
    return struct.pack("<Q", xxh3_64_intdigest(rest)) + rest


def batch(payloads: Sequence[bytes], first_identity: int = 1) -> bytes:
    """A batch that nobody has stamped."""
    messages = [_message(index, payload, first_identity + index) for index, payload in enumerate(payloads)]
    frames = b"".join(messages)
    length = BATCH_HEADER_BYTES + len(frames)
    counted = _COUNTED.pack(0, 0, 0, 0, length) + struct.pack("<I", len(payloads))
    checksum = xxh3_64_intdigest(counted + b"".join(message[:8] for message in messages))
    header = _COUNTED.pack(0, 0, 0, 0, length) + struct.pack("<QI", checksum, len(payloads))
    return header.ljust(BATCH_HEADER_BYTES, b"\0") + frames


def send_body(stream: bytes, topic: bytes, partitioning: bytes, content: bytes, count: int) -> bytes:
    """The body of send messages."""
    metadata = stream + topic + partitioning + struct.pack("<I", count)
    return struct.pack("<I", len(metadata)) + metadata + content
