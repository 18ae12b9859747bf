"""``server-ng recover``: what a stopped server has lost, and going on without it."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from server_ng.wire.tables import ExitStatus

__all__ = ["recover"]

DirectoryArgument: TypeAlias = Annotated[
    Path, typer.Argument(metavar="DIR", help="The data directory of a server that is stopped.")
]
AcceptOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--accept", metavar="NAME", help="Go on without this loss; given once for each, and for all of them."
    ),
]


def recover(directory: DirectoryArgument, accept: AcceptOption = None) -> int:
    """Print by name what the journal of a stopped server has lost, or accept exactly that.

    Nothing is changed without ``--accept``. After it, the next start goes on without what is lost, and gives
    no offset to another message. Ends with status 65 while a loss is not accepted.
    """
    from server_ng import binding
    from server_ng.bootstrap.data_directory import DataDirectory
    from server_ng.bootstrap.errors import StartError

    if not (directory / "LAYOUT").exists():
        print(f"server-ng: {directory} is no data directory: it has no LAYOUT", file=sys.stderr)
        return ExitStatus.CONFIGURATION
    try:
        taken = DataDirectory.take(directory, directory)
    except StartError as error:
        print(f"server-ng: {error}", file=sys.stderr)
        return ExitStatus.CONFIGURATION
    try:
        losses = binding.recover_directory(directory, accept or ())
    finally:
        taken.release()
    for name, word, meaning in losses:
        if not name:
            print(f"server-ng: {meaning}", file=sys.stderr)
            return int(word)
    if not losses:
        print(f"Nothing is lost in {directory}.")
        return ExitStatus.CLEAN
    for name, _, meaning in losses:
        print(f"{name}\n    {meaning}")
    if accept:
        print("This is accepted. The next start goes on without it.")
        return ExitStatus.CLEAN
    _print_advice(directory, losses)
    return ExitStatus.DAMAGED_DATA


def _print_advice(directory: Path, losses: list[tuple[str, str, str]]) -> None:
    final = [name for name, word, _ in losses if word != "acceptable"]
    print("\nA copy that was made while the server was stopped has all of it: restore that if there is one.")
    if final:
        print(f"No server can go on without {', '.join(final)}.")
        return
    names = " ".join(f"--accept {shlex.quote(name)}" for name, _, _ in losses)
    print(
        "To go on without it, for good (each partition of the shard then passes over 2^40 offsets, "
        "so that none names two messages):"
    )
    print(f"    server-ng recover {shlex.quote(str(directory))} {names}")
