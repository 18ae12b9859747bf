"""``server-ng config``: shows the configuration without a start."""

import json
import sys
from dataclasses import asdict

import typer

from server_ng.cli.options import FileOption, JsonOption, SetOption, load_or_exit
from server_ng.cli.tables import print_table
from server_ng.config.iggy_page import iggy_page
from server_ng.config.render import default_file, effective

__all__ = ["app"]

app = typer.Typer(help="Show and check the configuration.", no_args_is_help=True)


@app.command("show")
def show(config: FileOption = None, set_: SetOption = None, as_json: JsonOption = False) -> None:
    """Print every setting with its value and its source."""
    loaded = load_or_exit(config, set_)
    values = effective(loaded.settings, loaded.origins)
    if as_json:
        print(json.dumps([asdict(value) for value in values], indent=2))
        return
    print_table(("key", "value", "origin"), [(row.key, row.value, row.origin) for row in values])


@app.command("check")
def check(config: FileOption = None, set_: SetOption = None) -> None:
    """Check names, values and their combination; exits with status 78 if one is invalid.

    Does not look at this machine: free ports, processors, groups, the data directory and its disk are checked
    by the start.
    """
    loaded = load_or_exit(config, set_)
    for notice in loaded.warnings:
        print(f"server-ng: warning: {notice.message}", file=sys.stderr)
    print("The settings are valid. The start checks ports, processors, groups and the data directory.")


@app.command("defaults")
def defaults() -> None:
    """Print a configuration file with every key, its default and its meaning."""
    print(default_file(), end="")


@app.command("iggy")
def iggy() -> None:
    """Print the effect of each key and variable of an Apache Iggy configuration."""
    print(iggy_page(), end="")
