"""`python -m benches.spark.beside`: what a job on one core costs a server on the other."""

import argparse
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from pyspark.sql import SparkSession

from benches import nodes, process, programs
from benches.load import generator
from benches.load.cases import Case
from benches.machine import fingerprint, is_build_fit, profile
from benches.spark.session import session
from server_ng.spark.cutter import HeldLease, held
from tests.support.metrics_page import Counters
from tests.support.node import Node

_SERVER_CPU: Final = 0
_JOB_CPU: Final = 1
_LOAD: Final = Case("100 x 1000 B", "send", 100, 1000)
_NAME: Final = "load"
"""Of the stream and of the topic that the load program makes."""
_MEGABYTES_PER_REQUEST: Final = _LOAD.messages * _LOAD.bytes / 1e6
_PERCENTILE: Final = 0.99
_SHARE_GOAL: Final = 0.01
_FILLING_SECONDS_MAX: Final = 60


@dataclass(frozen=True, slots=True)
class Seen:
    """What a server did while something else went on."""

    requests: float
    core: float
    """The share of a core that all of its threads took."""
    sends: float
    p99_ms: float
    """Of the sends, from the arrival of a whole request to its reply: the upper end of its bucket."""


def main() -> int:
    """Measures. A goal that is missed is shown, and is no failure."""
    arguments = _arguments()
    if not is_build_fit(any_build=arguments.any_build):
        return 2
    print(f"Build {profile()}; load average before: {fingerprint()['load_before']:.1f}.\n")
    with programs.on_cpu(_SERVER_CPU), nodes.running("auto") as node, programs.on_cpu(_JOB_CPU):
        spark = session("local[1]")
        _fill(node, arguments.megabytes)
        _compare(node, spark, arguments)
        spark.stop()
    return 0


def _fill(node: Node, megabytes: int) -> None:
    target = programs.Target(node.tcp, node.pid)
    generator.prepare(_LOAD, target, _JOB_CPU)
    filling = replace(_LOAD, requests=round(megabytes / _MEGABYTES_PER_REQUEST))
    generator.run(filling, target, _JOB_CPU, _FILLING_SECONDS_MAX)


def _compare(node: Node, spark: SparkSession, arguments: argparse.Namespace) -> None:
    target = programs.Target(node.tcp, node.pid)
    load = replace(_LOAD, requests=round(arguments.rate * arguments.seconds))

    def wait() -> None:
        time.sleep(arguments.seconds)

    def produce() -> None:
        generator.run(load, target, _JOB_CPU, arguments.seconds, arguments.rate)

    with held(node.runtime / "control.sock", _NAME, _NAME, seconds=60) as lease:
        _read(spark, lease)
        alone = _seen(node, wait)
        with _reading(spark, lease) as rate:
            beside = _seen(node, wait)
        print(f"The job read {rate():.0f} MB/s.\n")
        producing = _seen(node, produce)
        with _reading(spark, lease):
            both = _seen(node, produce)
    _show(
        {
            "alone": alone,
            "beside a job": beside,
            "with producers": producing,
            "with producers, beside a job": both,
        }
    )
    spent = beside.core - alone.core
    met = spent < _SHARE_GOAL and beside.requests == 0
    print(f"\nThe job cost {spent:.2%} of a core (< 1 %) and {beside.requests:.0f} requests (0):", end=" ")
    print("met" if met else "MISSED")


def _show(rows: dict[str, Seen]) -> None:
    print("| the server | requests of shards | share of a core | sends/s | p99 of sends |")
    print("|---|---|---|---|---|")
    for name, seen in rows.items():
        p99 = f"<= {seen.p99_ms:.2f} ms" if seen.sends else ""
        print(f"| {name} | {seen.requests:.0f} | {seen.core:.2%} | {seen.sends:.0f} | {p99} |")


def _read(spark: SparkSession, lease: HeldLease) -> None:
    frame = spark.read.format("server_ng").option("columns", "key,value,partition,offset,timestamp")
    frame.load(str(lease.path)).write.format("noop").mode("overwrite").save()


@contextmanager
def _reading(spark: SparkSession, lease: HeldLease) -> Iterator[Callable[[], float]]:
    """Reads a lease again and again meanwhile; tells afterwards how many megabytes a second went through."""
    bytes_in_all = sum(segment.bytes for part in lease.lease.partitions for segment in part.segments)
    ended = threading.Event()
    rate = 0.0

    def read() -> float:
        begun, passes = time.perf_counter(), 0
        while not ended.is_set():
            _read(spark, lease)
            passes += 1
        return passes * bytes_in_all / 1e6 / (time.perf_counter() - begun)

    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(read)
        try:
            yield lambda: rate
        finally:
            ended.set()
            rate = job.result()


def _seen(node: Node, meanwhile: Callable[[], None]) -> Seen:
    before, cpu, begun = node.counters(), process.cpu_nanos(node.pid), time.perf_counter_ns()
    meanwhile()
    cpu, took, after = process.cpu_nanos(node.pid) - cpu, time.perf_counter_ns() - begun, node.counters()
    buckets = _buckets(before, after)
    sends = max(buckets.values())
    slow = min(bound for bound, count in buckets.items() if count >= _PERCENTILE * sends)
    return Seen(
        requests=after.total("requests_total") - before.total("requests_total"),
        core=cpu / took,
        sends=sends * 1e9 / took,
        p99_ms=1e3 * slow,
    )


def _buckets(before: Counters, after: Counters) -> dict[float, float]:
    """How many sends between two pages took no longer than so many seconds."""
    earlier, later = (
        page.split("request_seconds_bucket", "le", **{"class": "send"}) for page in (before, after)
    )
    return {float(bound): count - earlier[bound] for bound, count in later.items()}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benches.spark.beside", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=500, help="of the topic that the job reads (500)")
    parser.add_argument("--seconds", type=float, default=15, help="that each part is watched (15)")
    parser.add_argument(
        "--rate", type=float, default=200, help="requests of 100 kB a second of the producers (200)"
    )
    parser.add_argument("--any-build", action="store_true", help="with whichever extension is installed")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
