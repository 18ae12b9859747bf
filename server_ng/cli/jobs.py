"""``server-ng spark``: hands its arguments to the package of jobs, found by name and never imported."""

import sys
from importlib.metadata import entry_points
from typing import Final

import typer

from server_ng.wire.tables import ExitStatus

__all__ = ["CONTEXT", "spark"]

CONTEXT: Final = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
_GROUP: Final = "server_ng.commands"


def spark(context: typer.Context) -> int:
    """Read, check and export topics with Spark; see `server-ng spark --help`."""
    found = entry_points(group=_GROUP, name="spark")
    for entry in found:
        return int(entry.load()(context.args))
    print("server-ng: this installation has no spark command. Install it again.", file=sys.stderr)
    return ExitStatus.CONFIGURATION
