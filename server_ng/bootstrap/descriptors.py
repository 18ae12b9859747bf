"""How many connections the descriptors of the process allow."""

from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit, setrlimit
from typing import Final

import structlog

from server_ng.bootstrap.errors import StartError

__all__ = ["connections_within", "require_descriptors"]

_log = structlog.get_logger()

# Listeners, rings and eventfds, the log, metrics and their scrapers: clients that take all that is left must
# not take these.
_RESERVED: Final = 96
# Its ring, eventfd and superblock, the segments it keeps open, and files that are open for a moment.
_RESERVED_PER_SHARD: Final = 8 + 64 + 16


def require_descriptors() -> None:
    """Makes sure of the descriptors that a start needs before the engine counts them; raises `StartError`.

    Below them not even the event loop can be made.
    """
    soft, hard = getrlimit(RLIMIT_NOFILE)
    if hard != RLIM_INFINITY and hard < _RESERVED:
        raise _too_few(hard, _RESERVED)
    if soft != RLIM_INFINITY and soft < _RESERVED:
        setrlimit(RLIMIT_NOFILE, (_RESERVED, hard))


def connections_within(limit: str, wanted: int, shards: int, journal_files: int) -> int:
    """As many connections as wanted, or as the limit leaves room for beside the files of each shard.

    `limit` is ``soft/hard`` as the probe found it; the engine raises the soft one before it opens anything.
    """
    hard = limit.partition("/")[2]
    if hard == "unlimited":
        return wanted
    allowed = int(hard) - _RESERVED - shards * (_RESERVED_PER_SHARD + journal_files)
    if allowed <= 0:
        raise _too_few(int(hard), int(hard) - allowed)
    if allowed < wanted:
        _log.info("connections_limited", open_files_max=int(hard), connections_max=allowed, wanted=wanted)
    return min(allowed, wanted)


def _too_few(limit: int, needed: int) -> StartError:
    return StartError(
        f"The process may open {limit} files, and needs {needed} before the first client. "
        "Raise the limit (LimitNOFILE of the unit, or ulimit -n)."
    )
