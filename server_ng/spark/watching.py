"""How far Spark is with what it was asked for, told while it works."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from server_ng.spark.background import beside
from server_ng.spark.meter import Told

if TYPE_CHECKING:
    from pyspark import SparkContext

__all__ = ["watching"]

_LOOK_AGAIN_SECONDS: Final = 0.2


@contextmanager
def watching(context: "SparkContext", total: int, told: Told) -> Iterator[None]:
    """Tells of `total` bytes, as tasks end that this thread asks for in the block; all of them at its end."""
    group = uuid4().hex
    said = 0

    def look(left: Event) -> None:
        nonlocal said
        while not left.wait(_LOOK_AGAIN_SECONDS):
            # Stages become more while a query is planned: what was told is not taken back.
            more = int(total * _part_done(context, group)) - said
            if more > 0:
                told(more)
                said += more

    context.setJobGroup(group, "server-ng")
    try:
        with beside("watches-spark", look):
            yield
    finally:
        for name in ("spark.jobGroup.id", "spark.job.description"):
            # None removes a property, as its documentation says and its declared type does not.
            context.setLocalProperty(name, None)  # type: ignore[arg-type]
    told(total - said)


def _part_done(context: "SparkContext", group: str) -> float:
    tracker = context.statusTracker()
    tasks = done = 0
    for job in tracker.getJobIdsForGroup(group):
        info = tracker.getJobInfo(job)
        for number in () if info is None else info.stageIds:
            stage = tracker.getStageInfo(number)
            if stage is not None:
                tasks += stage.numTasks
                done += stage.numCompletedTasks
    return done / tasks if tasks else 0.0
