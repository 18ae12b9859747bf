"""What a job offers, held against its lease: which file is for which segments."""

import struct
from dataclasses import replace

import pytest

from server_ng.leases.adoption import plan
from server_ng.leases.errors import LeaseRefusedError, Refusal
from server_ng.leases.requests import AdoptSegments, InputName, OutputFile
from server_ng.segments.lease import Lease, PartitionCut, SegmentCut
from tests.support.lease_files import BASE_TIME, CLUSTER


def segment(first: int, last: int, generation: int = 0, *, sealed: bool = True) -> SegmentCut:
    """A segment of a lease."""
    return SegmentCut(
        path=f"{7:016x}/{first:020}.log",
        generation=generation,
        bytes=1_000,
        first_offset=first,
        last_offset=last,
        messages=last - first + 1,
        min_timestamp=1,
        max_timestamp=2,
        digest=f"{first + 1:032x}" if sealed else None,
    )


SEGMENTS = (segment(0, 9), segment(10, 19), segment(25, 29, 3), segment(30, 39, sealed=False))
LEASE = Lease(
    "one", CLUSTER, "orders", "events", BASE_TIME, (PartitionCut(2, f"{7:016x}", 4, 0, 39, SEGMENTS),)
)


def names(*segments: SegmentCut) -> tuple[InputName, ...]:
    """Segments as a request names them."""
    return tuple(InputName(each.first_offset, each.generation) for each in segments)


def output(first: int, last: int, generation: int = 1) -> OutputFile:
    """A file that a job made."""
    path = f"outputs/2/{first:020}.{generation}.log"
    return OutputFile(path, generation, 300, first, last, 1, 1, 1, f"{9:032x}")


def request(inputs: tuple[InputName, ...], *outputs: OutputFile) -> AdoptSegments:
    """A request for the one partition."""
    return AdoptSegments("one", 2, inputs, outputs)


@pytest.mark.parametrize(
    ("segments", "outputs", "runs"),
    [
        (SEGMENTS[:1], [output(0, 9)], [1]),
        (SEGMENTS[:2], [output(0, 19)], [2]),
        (SEGMENTS[:2], [output(0, 9), output(10, 19)], [1, 1]),
        (SEGMENTS[:3], [output(0, 29, 4)], [3]),
        (SEGMENTS[1:3], [output(10, 19), output(25, 29, 4)], [1, 1]),
    ],
)
def test_an_output_is_for_a_run_of_whole_segments(
    segments: tuple[SegmentCut, ...], outputs: list[OutputFile], runs: list[int]
) -> None:
    found = plan(LEASE, request(names(*segments), *outputs))
    assert [len(each.run) for each in found.replacements] == runs
    assert (found.partition, found.group, found.purge_generation) == (2, 7, 4)
    assert found.generation == max(each.generation for each in outputs)
    swap = found.swap()
    assert struct.unpack_from("<QII", swap) == (4, len(segments), len(outputs))
    assert len(swap) == 16 + 40 * len(segments) + 64 * len(outputs)
    first = segments[0]
    footer = int(first.digest or "", 16)
    expected = (first.first_offset, first.last_offset, first.generation, 0, footer, 0)
    assert struct.unpack_from("<QQIIQQ", swap, 16) == expected


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        (replace(request(names(SEGMENTS[0]), output(0, 9)), partition=3), Refusal.UNKNOWN_PARTITION),
        (request(names(SEGMENTS[0], SEGMENTS[2]), output(0, 29, 4)), Refusal.BAD_REQUEST),
        (request(names(SEGMENTS[3]), output(30, 39)), Refusal.BAD_REQUEST),
        (request(names(replace(SEGMENTS[0], generation=1)), output(0, 9, 2)), Refusal.BAD_REQUEST),
        (request(names(*SEGMENTS[:2]), output(0, 9)), Refusal.BAD_OUTPUT),
        (request(names(*SEGMENTS[:2]), output(0, 15)), Refusal.BAD_OUTPUT),
        (request(names(*SEGMENTS[:2]), output(1, 19)), Refusal.BAD_OUTPUT),
        (request(names(*SEGMENTS[:2]), output(10, 19), output(0, 9)), Refusal.BAD_OUTPUT),
        (request(names(*SEGMENTS[:1]), output(0, 9), output(0, 9)), Refusal.BAD_OUTPUT),
        (request(names(*SEGMENTS[1:3]), output(10, 29, 3)), Refusal.BAD_OUTPUT),
        (request(names(SEGMENTS[0]), replace(output(0, 9), messages=11)), Refusal.BAD_OUTPUT),
        (request(names(SEGMENTS[0]), replace(output(0, 9), path="outputs/2/x.log")), Refusal.BAD_OUTPUT),
    ],
)
def test_what_fits_nothing_is_refused(asked: AdoptSegments, kind: Refusal) -> None:
    with pytest.raises(LeaseRefusedError) as refused:
        plan(LEASE, asked)
    assert refused.value.kind is kind
    assert str(refused.value).endswith(".")
