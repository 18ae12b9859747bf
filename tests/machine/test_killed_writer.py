"""A journal whose writer is killed at every call that writes: what it said was durable is there."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.fixtures import LONG
from tests.support.journal_writer import JournalWriter
from tests.support.kill_at_call import KILLED, killer

OPS = 40
SEEDS = 10 if LONG else 1
# Runs side by side, and kills that are tried before the first run that nobody killed ends the sweep.
SIDE_BY_SIDE = 2
CHUNK = 8


@pytest.fixture
def writer(journal_program: Path, tmp_path: Path) -> JournalWriter:
    return JournalWriter(journal_program, fresh(tmp_path), tmp_path / "said", "posix")


def fresh(folder: Path) -> Path:
    journal = folder / "journal"
    journal.mkdir(parents=True)
    return journal


def killed_at(program: Path, folder: Path, backend: str, call: int, at: str, seed: int) -> bool:
    """Kills a writer at one call, judges, lets another go on, judges again; whether the first was killed."""
    writer = JournalWriter(program, fresh(folder), folder / "said", backend)
    status, errors = writer.run(killer(at, call), ops=OPS, seed=seed)
    assert status in (0, KILLED), errors
    assert writer.complaints() == "", errors
    assert writer.run(ops=8) == (0, ""), errors
    assert writer.complaints() == "", errors
    return status == KILLED


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("at", ["entry", "exit"])
def test_a_kill_at_any_writing_call_loses_nothing(
    journal_program: Path, tmp_path: Path, backend: str, at: str, seed: int
) -> None:
    """Aim: nothing acknowledged is lost at any moment. Method: a run for each call of a run of 40 ops."""
    kills = 0
    with ThreadPoolExecutor(SIDE_BY_SIDE) as runs:
        while True:
            calls = range(kills + 1, kills + 1 + CHUNK)
            ended = [
                runs.submit(killed_at, journal_program, tmp_path / str(call), backend, call, at, seed)
                for call in calls
            ]
            killed = [end.result() for end in ended]
            kills += sum(killed)
            if not all(killed):
                break
    # Two files made, filled and synced, and for some blocks a write and its sync each: one call on the ring.
    assert kills > 20


def test_the_writer_does_what_was_ordered_and_is_believed(writer: JournalWriter) -> None:
    assert writer.run(ops=OPS) == (0, "")
    assert writer.acknowledged() == OPS
    assert writer.complaints() == ""


def test_a_lost_op_is_seen(writer: JournalWriter) -> None:
    writer.run(ops=OPS)
    with writer.said.open("a") as said:
        said.write(f"ack 3 1000 {7:032x}\n")
    assert "(3, 1000) was 00000000000000000000000000000007, is None" in writer.complaints()


def test_a_changed_byte_is_seen(writer: JournalWriter) -> None:
    writer.run(ops=OPS)
    path = writer.journal / "journal-00000000"
    content = bytearray(path.read_bytes())
    middle = next(at for at in range(4096 + 512, len(content)) if content[at])
    content[middle] ^= 1
    path.write_bytes(content)
    assert "damage" in writer.complaints()


def test_a_journal_that_is_gone_is_seen(writer: JournalWriter) -> None:
    writer.run(ops=OPS)
    (writer.journal / "founded").unlink()
    assert writer.complaints().startswith("the journal was founded and is not there\n")


@pytest.mark.parametrize(("at", "written"), [("entry", b"\x01\x02"), ("exit", b"\x01\x02\x03")])
def test_the_killer_counts_over_all_threads(tmp_path: Path, at: str, written: bytes) -> None:
    target = tmp_path / "bytes"
    target.touch()
    program = (
        "import os, sys, threading\n"
        "file = os.open(sys.argv[1], os.O_RDWR)\n"
        "for at in range(5):\n"
        "    one = threading.Thread(target=os.pwrite, args=(file, bytes([at + 1]), at))\n"
        "    one.start()\n"
        "    one.join()\n"
    )
    done = subprocess.run(
        [*killer(at, 3), sys.executable, "-I", "-S", "-B", "-c", program, target],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (KILLED, "3 pwrite64\n")
    assert target.read_bytes() == written
