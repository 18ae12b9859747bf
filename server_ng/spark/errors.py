"""Why a job does not read or write what it was asked to."""

__all__ = [
    "BadOutputError",
    "BadRecordError",
    "DataLossError",
    "FencedError",
    "LeaseEndedError",
    "OptionError",
    "TopicChangedError",
]


class OptionError(ValueError):
    """An option that is not one, or a value that it cannot have; the message names it."""


class DataLossError(Exception):
    """Messages that were asked for are not there any more, or never were."""


class TopicChangedError(Exception):
    """The topic was purged, or deleted and made again: what was read before is of another one."""


class FencedError(Exception):
    """Another job changed the table since this one looked at it; nothing was added."""


class LeaseEndedError(FencedError):
    """The lease ended under a job: nothing more of it can be adopted."""


class BadRecordError(Exception):
    """A payload does not fit its schema, and nobody asked for a dead-letter path."""


class BadOutputError(Exception):
    """The server found what a job made to be wrong; it changed nothing."""
