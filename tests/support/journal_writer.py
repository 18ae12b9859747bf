"""The journal writer of the storage crate's examples as an object: run, killed and judged by a test."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["DISK_FAILED", "JournalWriter", "build"]

# A guard against hanging, not a measurement.
_ENDS_WITHIN = 120.0

DISK_FAILED = 74
"""The status of a writer whose disk fails."""


def build(root: Path) -> Path:
    """The program, compiled if it has to be."""
    locked = ["--locked"] if os.environ.get("CI") else []
    command = ["cargo", "build", "--profile", "ci", *locked, "--message-format", "json"]
    done = subprocess.run(
        [*command, "-p", "ng-storage", "--example", "journal_writer"],
        cwd=root,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    (program,) = [
        message["executable"]
        for message in messages
        if message["reason"] == "compiler-artifact" and message["target"]["name"] == "journal_writer"
    ]
    return Path(program)


@dataclass(slots=True)
class JournalWriter:
    """Writers of one journal, one after the other, and what all of them said."""

    program: Path
    journal: Path
    """The directory of the journal."""
    said: Path
    """What was said; not on the disk whose power is cut."""
    backend: str
    direct: bool = False
    incarnation: int = 0

    def start(self, under: Sequence[str | Path] = (), **wishes: int) -> "subprocess.Popen[str]":
        """Starts the next writer, as a child of another command if there is one."""
        self.incarnation += 1
        words = [f"{key}={value}" for key, value in wishes.items()]
        with self.said.open("a") as said:
            return subprocess.Popen(
                [*under, *self._command("write"), f"incarnation={self.incarnation}", *words],
                stdout=said,
                stderr=subprocess.PIPE,
                text=True,
            )

    def run(self, under: Sequence[str | Path] = (), **wishes: int) -> tuple[int, str]:
        """Runs the next writer to its end, however it comes; returns its status and its standard error."""
        with self.start(under, **wishes) as writer:
            return ended(writer)

    def complaints(self) -> str:
        """What was promised and is not so; nothing if all is well."""
        judge = subprocess.run(
            self._command("judge"), capture_output=True, text=True, check=False, timeout=_ENDS_WITHIN
        )
        assert (judge.returncode == 0) == (judge.stderr == ""), judge
        return judge.stderr

    def acknowledged(self) -> int:
        """How many ops were acknowledged until now."""
        lines = self.said.read_text().splitlines()
        return len({line for line in lines if line.startswith("ack ")})

    def _command(self, verb: str) -> list[str | Path]:
        self.said.touch()
        words = [f"directory={self.journal}", f"said={self.said}", f"backend={self.backend}"]
        return [self.program, verb, *words, f"direct={str(self.direct).lower()}"]


def ended(writer: "subprocess.Popen[str]") -> tuple[int, str]:
    """How a writer ended, and what it said on standard error; one that never ends is killed."""
    try:
        _, errors = writer.communicate(timeout=_ENDS_WITHIN)
    finally:
        writer.kill()
    return writer.returncode, errors
