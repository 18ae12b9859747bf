"""How a job ends: its exit status."""

from enum import IntEnum

__all__ = ["JobStatus"]


class JobStatus(IntEnum):
    """What the process says to whoever started it."""

    DONE = 0
    NOTHING_TO_DO = 3
    FENCED = 4
    """Another job, or a purge, came first; nothing was changed."""
    DATA_LOSS = 5
    """Messages that were to be read are gone."""
    CORRUPT_INPUT = 6
    RETRY_LATER = 75
    USAGE = 78
