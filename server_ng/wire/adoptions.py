"""What the control plane and the shards say to each other of segments that take the place of others."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["SEGMENTS_MAX", "SwapInput", "SwapOutput", "encode_swap", "segment_name"]

SEGMENTS_MAX: Final = 1024
"""On each side of one swap."""

_HEAD = struct.Struct("<QII")
_INPUT = struct.Struct("<QQIIQQ")
_OUTPUT = struct.Struct("<QQQQQIIQQ")
_U64 = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class SwapInput:
    """A segment that goes."""

    first_offset: int
    last_offset: int
    generation: int
    footer: int


@dataclass(frozen=True, slots=True)
class SwapOutput:
    """A segment that comes."""

    first_offset: int
    last_offset: int
    min_timestamp: int
    max_timestamp: int
    bytes: int
    generation: int
    messages: int
    footer: int


def segment_name(first_offset: int, generation: int) -> str:
    """The name of a segment that a compaction made."""
    return f"{first_offset:020}.{generation}.log"


def encode_swap(purge_generation: int, inputs: Sequence[SwapInput], outputs: Sequence[SwapOutput]) -> bytes:
    """The body of the operation; `native/wire/REPLICA.md`, 5."""
    body = bytearray(_HEAD.pack(purge_generation, len(inputs), len(outputs)))
    for each in inputs:
        footer = (each.footer & _U64, each.footer >> 64)
        body += _INPUT.pack(each.first_offset, each.last_offset, each.generation, 0, *footer)
    for output in outputs:
        body += _OUTPUT.pack(
            output.first_offset,
            output.last_offset,
            output.min_timestamp,
            output.max_timestamp,
            output.bytes,
            output.generation,
            output.messages,
            output.footer & _U64,
            output.footer >> 64,
        )
    return bytes(body)
