"""A program that is run until a line of its output decides, or a limit ends it."""

import math
import os
import re
import resource
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from threading import Timer
from typing import Final

__all__ = ["BoundedRun", "Ending", "run"]

# A mutant that allocates for ever must not take the machine with it.
_MEMORY: Final = 4 << 30
# Seconds. Only a deadlock gets there: CPU time is the limit elsewhere, because load does not change it.
_DEADLOCK: Final = 1_800


class Ending(Enum):
    """How a run ended."""

    WELL = auto()
    BADLY = auto()
    LIMIT = auto()


@dataclass(frozen=True, slots=True)
class BoundedRun:
    """How it ended, which line said so, and the CPU time that it took."""

    ending: Ending
    line: str
    cpu_seconds: float


def run(
    command: Sequence[str], folder: Path, failure: re.Pattern[str], cpu_seconds: float | None = None
) -> BoundedRun:
    """Runs a program until a line of its output matches, it ends, or a limit ends it."""
    before = _cpu_of_children()
    with subprocess.Popen(
        [*_limits(cpu_seconds), *command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        timer = Timer(_DEADLOCK, os.killpg, [process.pid, signal.SIGKILL])
        timer.start()
        try:
            assert process.stdout is not None
            line = next((line.rstrip() for line in process.stdout if failure.search(line)), "")
            ending = Ending.BADLY if line else _ending(process.wait())
        finally:
            timer.cancel()
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return BoundedRun(ending, line, _cpu_of_children() - before)


def _ending(status: int) -> Ending:
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return Ending.LIMIT
    return Ending.BADLY if status else Ending.WELL


def _limits(cpu_seconds: float | None) -> list[str]:
    """The command that runs another one within limits."""
    limits = ["prlimit", "--core=0", f"--as={_MEMORY}"]
    if cpu_seconds is not None:
        seconds = math.ceil(cpu_seconds)
        limits.append(f"--cpu={seconds}:{seconds + 1}")
    return limits


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
