"""``server-ng inspect``: shows this machine and the files of a data directory."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from server_ng.cli.options import FileOption, JsonOption, SetOption, load_or_exit
from server_ng.cli.tables import print_table
from server_ng.cli.topic_inspection import topic
from server_ng.wire.tables import ExitStatus

__all__ = ["app"]

_HELP: Final = "Show what this machine supports, and print files of a data directory."

PathArgument: TypeAlias = Annotated[Path, typer.Argument(metavar="PATH", help="The file to read.")]

app = typer.Typer(help=_HELP, no_args_is_help=True)
app.command("topic")(topic)


@app.callback()
def inspect() -> None:
    """Show what this machine supports, and print files of a data directory."""


@app.command("probe")
def probe(config: FileOption = None, set_: SetOption = None, as_json: JsonOption = False) -> int:
    """Print the features of kernel, CPUs, limits and data directory, as a start finds them."""
    loaded = load_or_exit(config, set_)
    from server_ng import binding

    try:
        found = binding.probe(loaded.settings.system.path)
    except OSError as error:
        print(f"server-ng: {loaded.settings.system.path} cannot be probed: {error}", file=sys.stderr)
        return ExitStatus.CONFIGURATION
    if as_json:
        print(json.dumps(found, indent=2, default=str))
    else:
        print_table(("what", "found"), [(str(key), str(value)) for key, value in found.items()])
    return ExitStatus.CLEAN


@app.command("metrics")
def metrics() -> None:
    """Print every metric with its labels and meaning."""
    from server_ng.observe.catalogue import metrics_page

    print(metrics_page(), end="")


@app.command("layout")
def layout(path: PathArgument) -> int:
    """Print a LAYOUT file as lines of JSON; exits with status 65 if a check fails."""
    return _print_file("layout", path)


@app.command("superblock")
def superblock(path: PathArgument) -> int:
    """Print a superblock as lines of JSON; exits with status 65 if a check fails."""
    return _print_file("superblock", path)


@app.command("journal")
def journal(path: PathArgument) -> int:
    """Print a file of a journal as lines of JSON; exits with status 65 if a check fails."""
    return _print_file("journal", path)


@app.command("manifest")
def manifest(path: PathArgument) -> int:
    """Print a manifest as lines of JSON; exits with status 65 if a check fails."""
    return _print_file("manifest", path)


@app.command("segment")
def segment(path: PathArgument) -> int:
    """Print the batches of a segment as lines of JSON; exits with status 65 if a check fails."""
    return _print_file("segment", path)


@app.command("segments")
def segments(path: PathArgument) -> int:
    """Print a SEGMENTS file as lines of JSON; exits with status 65 if a check fails."""
    return _print_file("segments", path)


@app.command("index")
def index(path: PathArgument) -> int:
    """Print an index as lines of JSON; exits with status 65 if a check fails."""
    return _print_file("index", path)


@app.command("state")
def state(path: PathArgument) -> int:
    """Print a state of the metadata as a line of JSON; exits with status 65 if a check fails."""
    return _print_file("state", path)


def _print_file(kind: str, path: Path) -> int:
    from server_ng.bootstrap.described_file import TooLargeError, described_lines

    refused = False
    try:
        for line in _readable(described_lines(kind, path)):
            refused = refused or "refused" in json.loads(line)
            print(line)
    except TooLargeError as error:
        print(f"server-ng: {path}: {error}", file=sys.stderr)
        return ExitStatus.DAMAGED_DATA
    except _UnreadableError as error:
        print(f"server-ng: {path} cannot be read: {error}", file=sys.stderr)
        return ExitStatus.CONFIGURATION
    return ExitStatus.DAMAGED_DATA if refused else ExitStatus.CLEAN


class _UnreadableError(Exception):
    """The file cannot be read. Errors of a closed stdout stay separate."""


def _readable(lines: Iterator[str]) -> Iterator[str]:
    try:
        yield from lines
    except OSError as error:
        raise _UnreadableError(error.strerror) from error
