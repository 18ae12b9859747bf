"""Why a job does not get what it asks for."""

from enum import StrEnum

__all__ = ["LeaseRefusedError", "Refusal"]


class Refusal(StrEnum):
    """The kinds of refusals, by the words on the socket."""

    BAD_REQUEST = "bad_request"
    UNKNOWN_STREAM = "unknown_stream"
    UNKNOWN_TOPIC = "unknown_topic"
    UNKNOWN_PARTITION = "unknown_partition"
    UNKNOWN_LEASE = "unknown_lease"
    BUSY = "busy"
    """It may be asked for again."""
    BUDGET = "budget"
    FENCED = "fenced"
    """What was to be replaced is gone, or is something else by now."""
    BAD_OUTPUT = "bad_output"
    CLUSTER = "cluster"
    FAILED = "failed"
    STOPPING = "stopping"


class LeaseRefusedError(Exception):
    """A refusal, with a sentence for who asked."""

    def __init__(self, kind: Refusal, message: str) -> None:
        super().__init__(message)
        self.kind = kind
