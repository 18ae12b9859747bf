"""``server-ng recover``: lists the losses of a stopped server, and accepts them."""

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
"""Marks a line with the end of the known messages of a partition."""
_GROUP: Final = re.compile(r"\.group-([0-9a-f]{16})\.")

DirectoryArgument: TypeAlias = Annotated[
    Path, typer.Argument(metavar="DIR", help="The data directory of a stopped server.")
]
AcceptOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--accept", metavar="NAME", help="Accept this loss. Repeat for each listed loss."),
]


def recover(directory: DirectoryArgument, accept: AcceptOption = None) -> int:
    """List what the journal of a stopped server has lost, or accept exactly those losses.

    Without ``--accept`` nothing is changed. After it, the next start continues without the lost data, and
    uses no offset twice. Exits with status 65 while a loss is not accepted.
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
        print("The losses are accepted. The next start continues without them.")
        return ExitStatus.CLEAN
    _print_advice(directory, losses)
    return ExitStatus.DAMAGED_DATA


def _fault_of(directory: Path) -> str | None:
    """Why this cannot be the data directory of a server."""
    if not is_utf8(str(directory)):
        return "is not a valid data path: it must be UTF-8 text"
    if not (directory / "LAYOUT").exists():
        return "is not a data directory: it has no LAYOUT"
    return None


def _partition_of(name: str, partitions: Mapping[int, str]) -> str:
    """The partition of a loss in brackets, if the loss names a known group."""
    group = _GROUP.search(name)
    partition = partitions.get(int(group[1], 16)) if group else None
    return f" ({partition})" if partition else ""


def _print_ends(ends: list[tuple[int, int]], partitions: Mapping[int, str]) -> None:
    """Prints the first offset that a loss without a partition may concern, per partition."""
    if ends:
        print("\nThese partitions may have lost messages, from this offset on:")
    for group, offset in ends:
        print(f"    {partitions.get(group, f'partition group {group:016x}')}: {offset}")


def _print_advice(directory: Path, losses: list[tuple[str, str, str]]) -> None:
    final = [name for name, word, _ in losses if word != "acceptable"]
    print("\nIf you have a copy that was made while the server was stopped, restore it: it has everything.")
    if final:
        print(f"A server cannot continue without {', '.join(final)}.")
        return
    names = " ".join(f"--accept {shlex.quote(name)}" for name, _, _ in losses)
    print(
        "To continue without the lost data, permanently (each partition of the shard then skips 2^40 "
        "offsets, so that none is used twice):"
    )
    print(f"    server-ng recover {shlex.quote(str(directory))} {names}")
