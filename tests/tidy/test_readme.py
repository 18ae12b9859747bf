"""The commands of the README do what the README shows."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import IO

import psutil
import pytest

from tests.support.notify_socket import READY_WITHIN
from tests.tidy.readme_session import Command, Run, Start, Stop, steps

_STRICT = ("bash", "-euo", "pipefail", "-c")


class Session:
    """One reader at one machine: a folder, an environment, and at most one command left running."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder = folder
        self._environment = environment
        self._started: subprocess.Popen[str] | None = None

    def run(self, command: Command) -> None:
        """Run a command to its end and compare its output with what is shown."""
        done = subprocess.run(
            [*_STRICT, command.text],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"$ {command.text}\n{done.stdout}"
        assert command.missing(done.stdout) == [], f"$ {command.text}\n{done.stdout}"

    def start(self, step: Start) -> None:
        """Start a command in a group of its own, so that nothing of it outlives the session."""
        assert self._started is None, "a session leaves one command running at most"
        self._started = subprocess.Popen(
            [*_STRICT, f"exec env {step.command.text}"],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        assert self._started.stdout is not None
        # What hangs before it is ready is killed, which ends its output; not a measurement.
        guard = Timer(READY_WITHIN, os.killpg, (self._started.pid, signal.SIGKILL))
        guard.start()
        try:
            seen = _read_until(self._started.stdout, step.ready)
        finally:
            guard.cancel()
        assert seen is None, f"$ {step.command.text}\n{seen}"

    def stop(self, status: int) -> None:
        """Stop what was started, and compare its exit status."""
        assert self._started is not None, "nothing was started"
        started, self._started = self._started, None
        _behind_make(psutil.Process(started.pid)).terminate()
        output, _ = started.communicate()
        assert started.returncode == status, output

    def abandon(self) -> None:
        """Leave nothing behind, however the session ended."""
        if self._started is not None:
            os.killpg(self._started.pid, signal.SIGKILL)
            self._started.communicate()


def _behind_make(process: psutil.Process) -> psutil.Process:
    """The program that `make` runs. A TERM for make itself would make its status that of the signal."""
    while process.name() == "make":
        (process,) = process.children()
    return process


def _read_until(stream: IO[str], text: str) -> str | None:
    """Read until the text was seen; all that was read instead, if the stream ended before."""
    seen = []
    for line in stream:
        seen.append(line)
        if text in line:
            return None
    return "".join(seen)


@contextmanager
def session(folder: Path, **environment: str) -> Iterator[Session]:
    """A session that is tidied up after."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    opened = Session(folder, inherited | environment)
    try:
        yield opened
    finally:
        opened.abandon()


def play(readme: str, at: Session, *, again: str = "") -> int:
    """Do every step of a README, and tell how many there were. With `again`, what runs is run twice.

    The second time a shown line begins with `again` where it began with 0: the offset of the second message.
    """
    played = list(steps(readme))
    for step in played:
        match step:
            case Run(command=command):
                at.run(command)
                if again:
                    shown = (re.sub(r"^0 ", f"{again} ", line) for line in command.shown)
                    at.run(Command(command.text, tuple(shown)))
            case Start():
                at.start(step)
            case Stop(status=status):
                at.stop(status)
    return len(played)


@pytest.mark.timeout(300)
def test_the_session_of_the_readme(root: Path, tmp_path: Path) -> None:
    with session(root, IGGY_SYSTEM_PATH=str(tmp_path / "data")) as opened:
        assert play((root / "README.md").read_text(), opened, again="1") >= 3


_PLANTED = """
# Planted

```console
$ exit 1
```

<!-- session: start until ready -->
```console
$ sh -c 'trap "exit 7" TERM; echo getting there; echo now ready; while :; do sleep 0.01; done'
```

<!-- session: run -->
```console
$ cat <<END
> one
> two
> END
one
t...
$ echo three; echo four
four
```

<!-- session: stop 7 -->
```console
^C
```
"""


def test_a_planted_session_is_played(tmp_path: Path) -> None:
    with session(tmp_path) as opened:
        assert play(_PLANTED, opened) == 4


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("\nfour\n", "\nfive\n"),
        ("stop 7", "stop 0"),
        ("until ready", "until never"),
        ("echo three;", "false;"),
        ("$ exit 1\n```", "$ exit 1\n```\n<!-- session: run -->\n```console\n$ exit 1\n```"),
    ],
)
def test_a_planted_fault_in_a_session_is_found(tmp_path: Path, right: str, wrong: str) -> None:
    readme = _PLANTED.replace(right, wrong)
    if "never" in wrong:
        readme = readme.replace("while :; do sleep 0.01; done", "exit 0")
    with session(tmp_path) as opened, pytest.raises(AssertionError):
        play(readme, opened)
