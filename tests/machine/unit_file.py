"""A systemd unit file as a test reads it."""

import re
import subprocess
from pathlib import Path


def values(unit: str, key: str) -> list[str]:
    """What the unit gives a key, assignment by assignment."""
    return re.findall(rf"^{key}=(.*)$", unit, re.MULTILINE)


def exposure(unit: Path) -> float:
    """What systemd-analyze thinks of the unit: 0 is sealed, 10 is open."""
    report = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", unit],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    (score,) = re.findall(r"Overall exposure level for \S+: ([0-9.]+)", report)
    return float(score)


def allowed_system_calls(unit: str) -> set[str]:
    """The system calls that the unit's filters leave, in the order systemd applies them."""
    allowed: set[str] = set()
    for line in values(unit, "SystemCallFilter"):
        named = _expanded(line.removeprefix("~").split())
        allowed = allowed - named if line.startswith("~") else allowed | named
    return allowed


def _expanded(words: list[str]) -> set[str]:
    """System calls from names of calls and of groups."""
    calls = {word for word in words if not word.startswith("@")}
    for group in (word for word in words if word.startswith("@")):
        listing = subprocess.run(
            ["systemd-analyze", "syscall-filter", "--no-pager", group],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        members = [line.strip() for line in listing.splitlines()[1:] if line.strip()]
        calls |= _expanded([member for member in members if not member.startswith("#")])
    return calls
