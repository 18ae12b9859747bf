"""What a job offers in place of segments, held against the lease it was made from: no files, no clock."""

from collections.abc import Sequence
from dataclasses import dataclass

from server_ng.leases.errors import LeaseRefusedError, Refusal
from server_ng.leases.requests import AdoptSegments, InputName, OutputFile
from server_ng.segments.lease import Lease, PartitionCut, SegmentCut
from server_ng.wire.adoptions import SwapInput, SwapOutput, encode_swap, segment_name

__all__ = ["Adoption", "Replacement", "plan"]


@dataclass(frozen=True, slots=True)
class Replacement:
    """One file, and the run of segments that it is for."""

    output: OutputFile
    run: tuple[SegmentCut, ...]


@dataclass(frozen=True, slots=True)
class Adoption:
    """Everything that is offered for one partition."""

    partition: int
    group: int
    purge_generation: int
    replacements: tuple[Replacement, ...]

    @property
    def generation(self) -> int:
        """The highest of the new segments."""
        return max(each.output.generation for each in self.replacements)

    def swap(self) -> bytes:
        """The operation of the partition's log."""
        inputs = [_input(cut) for each in self.replacements for cut in each.run]
        outputs = [_output(each.output) for each in self.replacements]
        return encode_swap(self.purge_generation, inputs, outputs)


def plan(lease: Lease, request: AdoptSegments) -> Adoption:
    """Which file is for which segments of the lease; raises `LeaseRefusedError`."""
    cut = _partition(lease, request.partition)
    inputs = _inputs(cut, request.inputs)
    replacements, left = [], inputs
    for output in request.outputs:
        run, left = _run(output, left)
        replacements.append(Replacement(output, run))
    if left:
        raise _bad(f"No output stands for the segment at offset {left[0].first_offset}.")
    for each in replacements:
        _check(request.partition, each)
    return Adoption(request.partition, int(cut.group_id, 16), cut.purge_generation, tuple(replacements))


def _partition(lease: Lease, partition: int) -> PartitionCut:
    for cut in lease.partitions:
        if cut.partition == partition:
            return cut
    raise LeaseRefusedError(
        Refusal.UNKNOWN_PARTITION, f"Lease {lease.lease} has no partition {partition} in it."
    )


def _inputs(cut: PartitionCut, names: Sequence[InputName]) -> tuple[SegmentCut, ...]:
    """Successive sealed segments of the lease."""
    places = {(each.first_offset, each.generation): at for at, each in enumerate(cut.segments)}
    first = places.get((names[0].first_offset, names[0].generation), len(cut.segments))
    found = cut.segments[first : first + len(names)]
    said = [(name.first_offset, name.generation) for name in names]
    if [(each.first_offset, each.generation) for each in found] != said:
        raise LeaseRefusedError(
            Refusal.BAD_REQUEST, "The inputs are not segments of the lease that follow each other."
        )
    if any(each.digest is None for each in found):
        raise LeaseRefusedError(Refusal.BAD_REQUEST, "A segment that is still written to cannot be replaced.")
    return found


def _run(
    output: OutputFile, left: tuple[SegmentCut, ...]
) -> tuple[tuple[SegmentCut, ...], tuple[SegmentCut, ...]]:
    """The segments that an output stands for, and those behind them."""
    ends = [cut.last_offset for cut in left]
    if not left or output.first_offset != left[0].first_offset or output.last_offset not in ends:
        raise _bad(
            f"{output.path!r}: offsets {output.first_offset} to {output.last_offset} are not those of whole "
            "inputs, each once and in order."
        )
    count = ends.index(output.last_offset) + 1
    return left[:count], left[count:]


def _check(partition: int, each: Replacement) -> None:
    output = each.output
    before = max(cut.generation for cut in each.run)
    if output.generation <= before:
        raise _bad(
            f"{output.path!r}: generation {output.generation} is not above {before}, that of its inputs."
        )
    name = f"outputs/{partition}/{segment_name(output.first_offset, output.generation)}"
    if output.path != name:
        raise _bad(f"{output.path!r} must be {name}.")
    if not 0 < output.messages <= sum(cut.messages for cut in each.run) or not output.bytes:
        raise _bad(f"{output.path!r}: {output.messages} messages are not some of those of its inputs.")


def _bad(message: str) -> LeaseRefusedError:
    return LeaseRefusedError(Refusal.BAD_OUTPUT, message)


def _input(cut: SegmentCut) -> SwapInput:
    return SwapInput(cut.first_offset, cut.last_offset, cut.generation, int(cut.digest or "0", 16))


def _output(output: OutputFile) -> SwapOutput:
    return SwapOutput(
        first_offset=output.first_offset,
        last_offset=output.last_offset,
        min_timestamp=output.min_timestamp,
        max_timestamp=output.max_timestamp,
        bytes=output.bytes,
        generation=output.generation,
        messages=output.messages,
        footer=int(output.digest, 16),
    )
