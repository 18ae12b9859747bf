"""``server-ng recover`` and ``server-ng inspect topic`` on the data of a stopped server."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from tests.support.node import FRAME_BYTES_MAX, clean_environment
from tests.support.topic_client import Place

__all__ = ["accept_losses", "inspect_topic", "list_losses"]

_COMMAND: Final = str(Path(sys.executable).with_name("server-ng"))
_ENDS_WITHIN: Final = 60.0
_ADVICE: Final = re.compile(r"^ +server-ng recover .*--accept.*$", re.MULTILINE)


def list_losses(data: Path) -> subprocess.CompletedProcess[str]:
    """Lists losses by name and changes nothing."""
    return _run("recover", str(data))


def accept_losses(data: Path) -> tuple[str, ...]:
    """Runs the command that the list of losses ends with, if it has one; the accepted names."""
    found = _ADVICE.search(list_losses(data).stdout)
    if found is None:
        return ()
    words = shlex.split(found[0])[1:]
    done = _run(*words)
    assert done.returncode == 0, f"{found[0].strip()}: {done.returncode}: {done.stderr}{done.stdout}"
    return tuple(words[number + 1] for number, word in enumerate(words) if word == "--accept")


def inspect_topic(data: Path, place: Place) -> tuple[int, dict[str, Any]]:
    """The exit status, and the description of the topic."""
    done = _run(
        *("inspect", "topic", place.stream, place.topic, "--json"),
        *("--set", f"system.path={data}", "--set", f"message_bus.max_message_size={FRAME_BYTES_MAX} B"),
    )
    return done.returncode, json.loads(done.stdout)


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [_COMMAND, *words],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=_ENDS_WITHIN,
        check=False,
    )
