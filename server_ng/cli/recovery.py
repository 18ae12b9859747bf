"""``server-ng recover``: what a stopped server has lost, and going on without it."""

import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from server_ng.cli.fenced_ranges import print_fenced_ranges
from server_ng.config.leaf import is_utf8
from server_ng.wire.tables import ExitStatus

__all__ = ["recover"]

_FROM: Final = "from"
"""The word of a line about where the known messages of a partition end."""
_GROUP: Final = re.compile(r"\.group-([0-9a-f]{16})\.")

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
    from server_ng.bootstrap.stored_partitions import stored_partitions

    if fault := _fault_of(directory):
        print(f"server-ng: {directory} {fault}", file=sys.stderr)
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
    ends = [(int(group, 16), int(offset)) for group, word, offset in losses if word == _FROM]
    losses = [loss for loss in losses if loss[1] != _FROM]
    partitions = stored_partitions(directory)
    fenced = print_fenced_ranges(directory, partitions)
    if not losses:
        print(
            f"The journal in {directory} has lost nothing." if fenced else f"Nothing is lost in {directory}."
        )
        return ExitStatus.CLEAN
    for name, _, meaning in losses:
        print(f"{name}{_partition_of(name, partitions)}\n    {meaning}")
    _print_ends(ends, partitions)
    if accept:
        print("This is accepted. The next start goes on without it.")
        return ExitStatus.CLEAN
    _print_advice(directory, losses)
    return ExitStatus.DAMAGED_DATA


def _fault_of(directory: Path) -> str | None:
    """Why this cannot be the data directory of a server."""
    if not is_utf8(str(directory)):
        return "is not a path of UTF-8 text, as every data path is"
    if not (directory / "LAYOUT").exists():
        return "is no data directory: it has no LAYOUT"
    return None


def _partition_of(name: str, partitions: Mapping[int, str]) -> str:
    """The partition that a loss is of, in brackets, if its name has a group and that has a name."""
    group = _GROUP.search(name)
    partition = partitions.get(int(group[1], 16)) if group else None
    return f" ({partition})" if partition else ""


def _print_ends(ends: list[tuple[int, int]], partitions: Mapping[int, str]) -> None:
    """Where a loss that names no partition may have begun in each of them."""
    if ends:
        print("\nOf these partitions, messages may be lost from this offset on:")
    for group, offset in ends:
        print(f"    {partitions.get(group, f'partition group {group:016x}')}: {offset}")


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
