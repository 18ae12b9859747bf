"""A run of a judge ends: by itself, at the line that decides, or at a limit."""

import re
import sys
from pathlib import Path

import pytest

from tests.support.mutants.bounded_run import Ending, run

FAILED = re.compile(r"FAILED$")


def python(program: str, folder: Path, cpu_seconds: float | None = None) -> tuple[Ending, str]:
    done = run([sys.executable, "-c", program], folder, FAILED, cpu_seconds)
    return done.ending, done.line


@pytest.mark.parametrize(
    ("program", "ending"),
    [
        ("print('test a ... ok')", (Ending.WELL, "")),
        ("raise SystemExit(1)", (Ending.BADLY, "")),
        ("import os; os.abort()", (Ending.BADLY, "")),
        ("bytearray(8 << 30)", (Ending.BADLY, "")),
    ],
    ids=["well", "status", "signal", "memory"],
)
def test_the_status_decides(tmp_path: Path, program: str, ending: tuple[Ending, str]) -> None:
    assert python(program, tmp_path) == ending


def test_the_line_decides_before_the_end(tmp_path: Path) -> None:
    program = "import time; print('test a ... FAILED', flush=True); time.sleep(3600)"
    assert python(program, tmp_path) == (Ending.BADLY, "test a ... FAILED")


def test_a_program_that_hangs_is_ended(tmp_path: Path) -> None:
    assert python("while True: pass", tmp_path, 0.5) == (Ending.LIMIT, "")
