"""What a job that failed says, and its exit status: for our own errors, and those of libraries."""

import errno
from typing import Final

from server_ng.segments.damage import DamagedSegmentError, SegmentDeniedError, SegmentReadError
from server_ng.segments.lease import LeaseDeniedError, LeaseError
from server_ng.spark.cutter import CutRefusedError
from server_ng.spark.errors import (
    BadOutputError,
    BadRecordError,
    DataLossError,
    FencedError,
    OptionError,
    TopicChangedError,
)
from server_ng.spark.status import JobStatus

__all__ = ["Failure", "failure_of", "is_explained"]

Failure = tuple[JobStatus, str]

# The first that fits counts.
_OURS: Final[dict[type[Exception], JobStatus]] = {
    LeaseDeniedError: JobStatus.USAGE,
    SegmentDeniedError: JobStatus.USAGE,
    LeaseError: JobStatus.DATA_LOSS,
    DataLossError: JobStatus.DATA_LOSS,
    SegmentReadError: JobStatus.DATA_LOSS,
    DamagedSegmentError: JobStatus.CORRUPT_INPUT,
    BadRecordError: JobStatus.CORRUPT_INPUT,
    BadOutputError: JobStatus.CORRUPT_INPUT,
    TopicChangedError: JobStatus.FENCED,
    FencedError: JobStatus.FENCED,
    OptionError: JobStatus.USAGE,
    CutRefusedError: JobStatus.RETRY_LATER,
    # A full disk, most likely: the table stays as it was.
    OSError: JobStatus.RETRY_LATER,
}
_NOT_OF_THE_MOMENT: Final = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG}
)
"""What of the system's refusals is the same tomorrow."""
_EXTRAS: Final = {"deltalake": "delta", "pyiceberg": "iceberg", "fastavro": "avro"}
_OF_THE_QUERY: Final = frozenset(
    {
        "ParseException",
        "AnalysisException",
        "IllegalArgumentException",
        "ArithmeticException",
        "ArrayIndexOutOfBoundsException",
        "DateTimeException",
        "NumberFormatException",
        "SparkRuntimeException",
    }
)
_JAVA_ENDED: Final = "JAVA_GATEWAY_EXITED"
_OF_THE_SETUP: Final = ("Could not parse Master URL", _JAVA_ENDED, "Failed to load class")
_NO_TABLE: Final = "[TABLE_OR_VIEW_NOT_FOUND]"
_OF_THE_MOMENT: Final = (
    "OperationalError",
    "CommitFailedException",
    "ServerError",
    "CommitFailedError",
)


def failure_of(error: Exception) -> Failure | None:
    """None for what can only be a defect."""
    if _stays(error):
        return JobStatus.USAGE, str(error)
    for kind, status in _OURS.items():
        if isinstance(error, kind):
            return status, str(error)
    if isinstance(error, ModuleNotFoundError):
        package = (error.name or "").partition(".")[0]
        return JobStatus.USAGE, f"{error}; install server-ng with the extra {_EXTRAS.get(package, 'spark')}"
    return _of_libraries(error)


def is_explained(error: Exception) -> bool:
    """Whether the sentence of the failure is enough; the output of Java says more of any other one."""
    failure = failure_of(error)
    return failure is not None and failure[0] is not JobStatus.RETRY_LATER and _JAVA_ENDED not in str(error)


def _stays(error: Exception) -> bool:
    """Whether the same job would be refused tomorrow."""
    if isinstance(error, CutRefusedError):
        return not error.may_be_repeated
    return isinstance(error, OSError) and error.errno in _NOT_OF_THE_MOMENT


def _of_libraries(error: Exception) -> Failure | None:
    # None of them is imported here: most jobs need none.
    match type(error).__module__.partition(".")[0]:
        case "pyspark" | "py4j":
            return _of_spark(error)
        case "pyiceberg" | "sqlalchemy" | "deltalake" | "_internal":
            later = type(error).__name__ in _OF_THE_MOMENT
            return JobStatus.RETRY_LATER if later else JobStatus.USAGE, _first_line(str(error))
        case _:
            return None


def _of_spark(error: Exception) -> Failure:
    """Of the query, of the session, or of a task: what that raised is in the text, by its name."""
    text = str(error)
    for kind, status in _OURS.items():
        name = f"{kind.__module__}.{kind.__name__}: "
        if kind.__module__.startswith("server_ng.") and name in text:
            return status, _first_line(text.rpartition(name)[2])
    if type(error).__name__ in _OF_THE_QUERY or any(each in text for each in _OF_THE_SETUP):
        hint = " The topic is the table `topic`." if _NO_TABLE in text else ""
        return JobStatus.USAGE, _first_line(text).rstrip(";") + hint
    return JobStatus.RETRY_LATER, f"Spark: {_first_line(text.removeprefix(_calling(text)))}"


def _calling(text: str) -> str:
    """What py4j puts before an error of Java: a line that names the call."""
    line, _, rest = text.partition("\n")
    return f"{line}\n: " if rest.startswith(": ") else ""


def _first_line(text: str) -> str:
    return next((line for line in text.splitlines() if line.strip()), "no reason was given")
