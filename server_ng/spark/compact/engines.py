"""Who does the work: this process, or workers of Spark. What comes out is the same, to the byte."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from server_ng.segments.damage import DamagedSegmentError, SegmentReadError
from server_ng.segments.newest import TooManyKeysError
from server_ng.spark.compact.partition import Compacted, PartitionTask, compact
from server_ng.spark.meter import Told
from server_ng.spark.workers import settle

if TYPE_CHECKING:
    from pyspark import SparkContext

__all__ = ["Engine", "local", "on_workers", "tasks"]

Engine: TypeAlias = Callable[[Sequence[PartitionTask], Told], Iterator[Compacted]]
"""Compacts partitions, and yields them as they come."""


def local(found: Sequence[PartitionTask], told: Told) -> Iterator[Compacted]:
    """Threads of this process: the native library leaves the interpreter's lock alone."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(partial(compact, told=told), found)


def tasks(master: str) -> Engine:
    """One task of a cluster for each partition."""
    from server_ng.spark.session import builder

    def run(found: Sequence[PartitionTask], told: Told) -> Iterator[Compacted]:
        context = builder("server-ng spark compact", master).getOrCreate().sparkContext
        yield from on_workers(context, found, told)

    return run


def on_workers(context: "SparkContext", found: Sequence[PartitionTask], told: Told) -> Iterator[Compacted]:
    """One task for each partition; what a worker cannot do is raised here, as what it is."""
    # Asked for one by one they would be done one by one.
    ended = context.parallelize(found, max(1, len(found))).map(_attempt).collect()
    for task, done in zip(found, ended, strict=True):
        if isinstance(done, Exception):
            raise done
        told(sum(segment.bytes for segment in task.cut.segments) + sum(run.bytes for run in done.runs))
        yield done


def _attempt(task: PartitionTask) -> Compacted | Exception:
    settle()
    try:
        return compact(task)
    except (DamagedSegmentError, SegmentReadError, TooManyKeysError, OSError) as error:
        return error
