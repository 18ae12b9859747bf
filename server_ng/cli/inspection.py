"""``server-ng inspect``: what the server finds on this machine."""

import json
import sys

import typer

from server_ng.cli.options import FileOption, JsonOption, SetOption, load_or_exit
from server_ng.cli.tables import print_table
from server_ng.wire.tables import ExitStatus

__all__ = ["app"]

app = typer.Typer(help="Look at what the server would find on this machine.", no_args_is_help=True)


@app.callback()
def inspect() -> None:
    """Look at what the server would find on this machine."""


@app.command("probe")
def probe(config: FileOption = None, set_: SetOption = None, as_json: JsonOption = False) -> int:
    """Print what kernel, processors, limits and data folder allow, as the server sees it at its start."""
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
