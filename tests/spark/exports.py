"""What exports are tried on: two states of a topic, and an engine that dies."""

from collections.abc import Callable
from typing import Any, Final

from server_ng.spark.export.job import Settings, on_threads
from server_ng.spark.export.rows import Shape
from server_ng.spark.export.writing import Written
from tests.spark.topics import sealed
from tests.support.lease_files import WrittenSegment

__all__ = ["FIRST", "RAW", "SECOND", "Crash", "crashing", "first_state", "second_state"]

RAW: Final = Settings(Shape())


def first_state() -> dict[int, list[WrittenSegment]]:
    return {0: [sealed(0, 20)], 1: [sealed(0, 7, partition=1, group=8)]}


def second_state() -> dict[int, list[WrittenSegment]]:
    return {0: [sealed(0, 20), sealed(22, 5)], 1: [sealed(0, 7, partition=1, group=8)]}


FIRST = [*((0, offset) for offset in range(20)), *((1, offset) for offset in range(7))]
SECOND = sorted([*FIRST, *((0, offset) for offset in range(22, 27))])


class Crash(BaseException):
    """The process is gone."""


def crashing(calls: int) -> Callable[[Any], list[Written]]:
    """An engine whose process ends after so many files."""

    def run(tasks: Any) -> list[Written]:
        on_threads(tasks[:calls])
        raise Crash

    return run
