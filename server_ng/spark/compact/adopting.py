"""Compacted segments offered to the server, which verifies them and puts them in the place of others."""

from time import sleep
from typing import Final, Protocol

from server_ng.spark.compact.merging import Output
from server_ng.spark.cutter import CutRefusedError
from server_ng.spark.errors import BadOutputError, FencedError, LeaseEndedError

__all__ = ["Adopter", "adopt"]

_BUSY: Final = "busy"
_TRIES: Final = 60
_SECONDS_BETWEEN: Final = 1.0
"""A partition is busy while polls still read what an adoption before has replaced, or its disk is slow."""


class Adopter(Protocol):
    """A server, from the side of its control socket."""

    def adopt(
        self, lease: str, partition: int, inputs: list[dict[str, int]], outputs: list[dict[str, object]]
    ) -> None:
        """Offers segments; raises `CutRefusedError`."""


def adopt(server: Adopter, lease: str, output: Output) -> None:
    """Hands one segment over; raises `FencedError` if what it was made of is not there any more."""
    made = output.made
    inputs = [
        {"first_offset": segment.first_offset, "generation": segment.generation} for segment in output.inputs
    ]
    outputs: list[dict[str, object]] = [
        {
            "path": made.path,
            "generation": made.generation,
            "bytes": made.bytes,
            "first_offset": made.first_offset,
            "last_offset": made.last_offset,
            "messages": made.messages,
            "min_timestamp": made.min_timestamp,
            "max_timestamp": made.max_timestamp,
            "digest": made.digest,
        }
    ]
    for left in reversed(range(_TRIES)):
        try:
            server.adopt(lease, output.partition, inputs, outputs)
        except CutRefusedError as error:
            if error.kind != _BUSY or not left:
                raise _refusal(error, output) from error
            sleep(_SECONDS_BETWEEN)
        else:
            break


def _refusal(error: CutRefusedError, output: Output) -> Exception:
    made = output.made
    place = f"partition {output.partition}, offsets {made.first_offset} to {made.last_offset}"
    match error.kind:
        case "fenced":
            return FencedError(
                f"{place}: another job, retention or a purge was there first: {error.message} "
                "Nothing was changed there; run the job again."
            )
        case "unknown_lease":
            return LeaseEndedError(
                f"{place}: the lease ended before its segments were adopted: {error.message}"
            )
        case "bad_output":
            return BadOutputError(f"{place}: the server does not accept what was made: {error.message}")
        case _:
            return error
