"""``server-ng spark compact``: its options, and what it says."""

import argparse
import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Final

from server_ng.segments.keys import DEFAULT_KEY
from server_ng.segments.newest import TooManyKeysError
from server_ng.spark.compact import engines
from server_ng.spark.compact.engines import Engine
from server_ng.spark.compact.job import run
from server_ng.spark.compact.rules import Rules
from server_ng.spark.cutter import Cutter, HeldLease
from server_ng.spark.errors import FencedError, OptionError
from server_ng.spark.keys import key_rule
from server_ng.spark.meter import Meter
from server_ng.spark.status import JobStatus

__all__ = ["add_options", "compact_topic"]

_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_BYTES: Final = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_CONTROL: Final = ("runtime", "control.sock")


def add_options(made: argparse.ArgumentParser) -> None:
    """The options of a compaction."""
    rules = Rules()
    made.add_argument(
        "--key",
        default=DEFAULT_KEY,
        help=f"none, id, header:NAME or json:/PATH ({DEFAULT_KEY}); messages without a key are kept",
    )
    made.add_argument(
        "--deduplicate", action="store_true", help="of messages without a key, keep one of each id"
    )
    made.add_argument(
        "--tombstones-after",
        type=_duration,
        default=rules.tombstones_after,
        metavar="AGE",
        help="delete tombstones of this age (24h)",
    )
    made.add_argument(
        "--older-than", type=_duration, default=0.0, metavar="AGE", help="skip younger segments"
    )
    made.add_argument(
        "--dirty-min",
        type=float,
        default=0.0,
        metavar="PART",
        help="skip a partition if a smaller share would be deleted, as in 0.5",
    )
    made.add_argument(
        "--segment-size",
        type=_size,
        default=rules.segment_bytes,
        metavar="SIZE",
        help="merge small segments up to this size (256MiB)",
    )
    made.add_argument(
        "--rewrite-max", type=_size, metavar="SIZE", help="rewrite at most this much of each partition"
    )
    made.add_argument(
        "--key-memory",
        type=_size,
        default=rules.key_memory,
        metavar="SIZE",
        help="memory for the keys of one partition (1GiB)",
    )
    made.add_argument("--engine", choices=("auto", "local", "tasks", "shuffle"), default="auto")
    made.add_argument("--master", help="master of Spark (default: work in this process)")
    made.add_argument("--dry-run", action="store_true", help="print the plan, and change nothing")


def _duration(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 90s, 15m, 24h or 7d")
    return float(found[1]) * _SECONDS[found[2] or "s"]


def _size(text: str) -> int:
    found = re.fullmatch(r"(\d+) ?([KMG]iB|)", text)
    if not found or not int(found[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 4096, 64MiB or 1GiB")
    return int(found[1]) * _BYTES.get(found[2], 1)


def compact_topic(
    chosen: argparse.Namespace, leased: HeldLease, say: Callable[[dict[str, object]], None]
) -> JobStatus:
    """Compacts what a lease holds, and has the server adopt it."""
    rules = Rules(
        key=key_rule(chosen.key),
        deduplicate=chosen.deduplicate,
        tombstones_after=chosen.tombstones_after,
        older_than=chosen.older_than,
        dirty_min=chosen.dirty_min,
        segment_bytes=chosen.segment_size,
        bytes_max=chosen.rewrite_max,
        key_memory=chosen.key_memory,
    )
    server = None if chosen.dry_run else Cutter(_control(chosen, leased))
    size = sum(segment.bytes for cut in leased.lease.partitions for segment in cut.segments)
    with Meter(2 * size) as meter:
        try:
            report = run(leased, rules, _engine(chosen), server, meter.told)
        except TooManyKeysError as error:
            raise OptionError(
                f"{error}: raise --key-memory, or give --engine shuffle and --master"
            ) from error
    for each in report.partitions:
        say(asdict(each))
    say(report.total)
    if report.fenced:
        raise FencedError("\n".join(report.fenced))
    return JobStatus.DONE if report.total["segments"] else JobStatus.NOTHING_TO_DO


def _control(chosen: argparse.Namespace, leased: HeldLease) -> Path:
    """The server that gave a lease listens in the same data directory."""
    given: Path | None = chosen.control
    return leased.path.resolve().parents[1].joinpath(*_CONTROL) if given is None else given


def _engine(chosen: argparse.Namespace) -> Engine:
    wanted = chosen.engine
    if wanted == "auto":
        wanted = "local" if chosen.master is None else "tasks"
    if wanted == "local":
        return engines.local
    if chosen.master is None:
        raise OptionError(f"the engine {wanted} needs --master")
    if wanted == "tasks":
        return engines.tasks(chosen.master)
    from server_ng.spark.compact.shuffle import shuffle

    return shuffle(chosen.master)
