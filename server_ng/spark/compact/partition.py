"""The compaction of one partition, up to segments that the server may adopt. The same on every engine."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from server_ng.segments.lease import PartitionCut
from server_ng.segments.sealed_writer import sync_directory
from server_ng.spark.compact.merging import OUTPUTS, Merge, Output, merge
from server_ng.spark.compact.planning import Run, plan
from server_ng.spark.compact.rules import Rules
from server_ng.spark.compact.survey import Surveyor, survey
from server_ng.spark.meter import Told, untold

__all__ = ["Compacted", "PartitionTask", "compact"]


@dataclass(frozen=True, slots=True)
class PartitionTask:
    """What a worker is given."""

    directory: Path
    """Of the lease, which must be where the worker finds it."""
    cut: PartitionCut
    cut_at: int
    rules: Rules
    dry: bool
    surveyor: Surveyor = survey


@dataclass(frozen=True, slots=True)
class Compacted:
    """What became of a partition."""

    partition: int
    runs: tuple[Run, ...]
    outputs: tuple[Output, ...]
    """None of a dry run."""
    reason: str


def compact(task: PartitionTask, told: Told = untold) -> Compacted:
    """Surveys, plans, and writes each run; what is returned is on the disk."""
    found = task.surveyor(task.directory, task.cut, task.rules, task.cut_at, told)
    planned = plan(found.tallies, task.rules, task.cut_at)
    outputs: list[Output] = []
    if planned.runs and not task.dry:
        folder = task.directory / OUTPUTS / str(task.cut.partition)
        # A worker that died in the middle of it left what is of no use.
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        dense = frozenset(tally.segment for tally in found.tallies if tally.is_dense)
        merging = Merge(
            task.directory, task.cut, task.rules.identity, found.newest, planned.tombstones, dense
        )
        outputs = [merge(merging, run, told) for run in planned.runs]
        for each in (folder.parent, task.directory):
            sync_directory(each)
    return Compacted(task.cut.partition, planned.runs, tuple(outputs), planned.reason)
