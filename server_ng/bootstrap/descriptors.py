"""How many connections the descriptors of the process allow."""

from typing import Final

import structlog

from server_ng.bootstrap.errors import StartError

__all__ = ["connections_within"]

_log = structlog.get_logger()

# Listeners, rings and eventfds, the log, metrics and their scrapers: clients that take all that is left must
# not take these.
_RESERVED: Final = 96
# Its ring, eventfd and superblock, the segments it keeps open, and files that are open for a moment.
_RESERVED_PER_SHARD: Final = 8 + 64 + 16


def connections_within(limit: str, wanted: int, shards: int, journal_files: int) -> int:
    """As many connections as wanted, or as the limit leaves room for beside the files of each shard.

    `limit` is ``soft/hard`` as the probe found it; the engine raises the soft one before it opens anything.
    """
    hard = limit.partition("/")[2]
    if hard == "unlimited":
        return wanted
    allowed = int(hard) - _RESERVED - shards * (_RESERVED_PER_SHARD + journal_files)
    if allowed <= 0:
        raise StartError(
            f"The process may open {hard} files, and needs {int(hard) - allowed} before the first client. "
            "Raise the limit (LimitNOFILE of the unit, or ulimit -n)."
        )
    if allowed < wanted:
        _log.info("connections_limited", open_files_max=int(hard), connections_max=allowed, wanted=wanted)
    return min(allowed, wanted)
