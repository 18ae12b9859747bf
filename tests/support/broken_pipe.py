"""A command whose reader is gone."""

import os
import subprocess
import sys

__all__ = ["run_without_reader"]


def run_without_reader(*arguments: str) -> tuple[int, str]:
    """Runs ``server-ng`` with a closed pipe as its standard output; its status and its standard error."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "server_ng", *arguments],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writer)
    return done.returncode, done.stderr
