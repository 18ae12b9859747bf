"""``server-ng audit``: what an audit file proves."""

import sys
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from server_ng.wire.tables import ExitStatus

__all__ = ["app"]

_HELP: Final = "Check the files that audit.path names."

FileArgument: TypeAlias = Annotated[Path, typer.Argument(metavar="FILE", help="The audit file to check.")]

app = typer.Typer(help=_HELP, no_args_is_help=True)


@app.callback()
def audit() -> None:
    """Check the files that audit.path names."""


@app.command("verify")
def verify(file: FileArgument) -> int:
    """Follow the chain of an audit file and name its first gap or change, with status 65 if there is one.

    A chain cannot show that its last lines were cut off, or that all of it was written again. Compare the
    digest that is printed with one that was kept elsewhere.
    """
    from server_ng.audit.verify import verify as follow

    try:
        with file.open("rb") as lines:
            found = follow(lines)
    except OSError as error:
        print(f"server-ng: {file} cannot be read: {error.strerror}", file=sys.stderr)
        return ExitStatus.CONFIGURATION
    if found.last is not None:
        print(f"{found.lines} lines follow from each other, up to number {found.last.number}.")
        print(f"Digest: {found.last.digest.hex()}")
    if found.fault is not None:
        print(f"server-ng: {file}: {found.fault}", file=sys.stderr)
        return ExitStatus.DAMAGED_DATA
    if found.last is None:
        print("The file has no lines.")
    return ExitStatus.CLEAN
