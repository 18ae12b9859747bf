"""``server-ng lease`` on the data of a node, whether that runs or not."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.node import FRAME_BYTES_MAX, ROOT_CREDENTIAL, clean_environment

__all__ = ["lease_command", "run_lease"]

_SECONDS_MAX = 60
_SHARDS = {"system.sharding.cpu_allocation": "2", "system.sharding.pin_cores": "false"}


def run_lease(
    words: Sequence[str], settings: Mapping[str, str], under: Sequence[str | Path] = ()
) -> subprocess.CompletedProcess[str]:
    """Runs it with settings; `under` is a command that starts it."""
    overrides = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    return subprocess.run(
        [*under, Path(sys.executable).with_name("server-ng"), "lease", *words, *overrides],
        env={**clean_environment(), **ROOT_CREDENTIAL},
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS_MAX,
    )


def lease_command(
    data: Path, *words: str, under: Sequence[str | Path] = (), settings: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs it on a data directory."""
    frame = f"{FRAME_BYTES_MAX} B"
    found = {"system.path": str(data), "message_bus.max_message_size": frame, **_SHARDS, **(settings or {})}
    return run_lease(words, found, under)
