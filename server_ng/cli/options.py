"""Options that several commands take, and loading the configuration they describe."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from server_ng.config import ConfigErrors, Loaded, load
from server_ng.wire.tables import ExitStatus

__all__ = ["FileOption", "JsonOption", "SetOption", "load_or_exit"]

FileOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Configuration file (TOML). Default: the file in IGGY_CONFIG_PATH, if it is set.",
    ),
]
SetOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override a setting, as in tcp.address=127.0.0.1:0 (repeatable; wins over every other source).",
    ),
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def load_or_exit(
    file: Path | None, overrides: list[str] | None, environment: Mapping[str, str] = os.environ
) -> Loaded:
    """The configuration of this command line; prints every fault and ends with status 78 if there are any."""
    try:
        return load(file, environment, overrides or ())
    except ConfigErrors as errors:
        count = len(errors.faults)
        print(f"server-ng: the configuration has {count} fault{'s' * (count > 1)}:", file=sys.stderr)
        for fault in errors.faults:
            print(f"  {fault}", file=sys.stderr)
        raise typer.Exit(ExitStatus.CONFIGURATION) from None
