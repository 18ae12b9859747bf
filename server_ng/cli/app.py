"""The tree of commands, and how the process ends."""

import os
import sys
from typing import Final

import typer

from server_ng.cli import auditing, configuration, inspection, jobs, leasing, recovery, serving, versions
from server_ng.wire.tables import ExitStatus

__all__ = ["main"]

_READER_GONE: Final = 1
"""Exit status of typer if a command writes to a closed pipe, as after `head`."""

_app = typer.Typer(
    name="server-ng",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


@_app.callback()
def server_ng(version: versions.VersionOption = False) -> None:
    """A persistent message-streaming server for Apache Iggy clients."""


_app.command("serve")(serving.serve)
_app.add_typer(auditing.app, name="audit")
_app.add_typer(configuration.app, name="config")
_app.add_typer(inspection.app, name="inspect")
_app.add_typer(leasing.app, name="lease")
_app.command("recover")(recovery.recover)
_app.command("spark", context_settings=jobs.CONTEXT)(jobs.spark)
_app.command("version")(versions.version)


def main() -> int:
    """Runs the command line of this process and returns the exit status."""
    try:
        status = _run()
        # Here, because at its end the interpreter would print a traceback for a reader that is gone.
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _READER_GONE
    return status


def _run() -> int:
    try:
        status = _app(prog_name="server-ng", standalone_mode=False)
    except typer.TyperException as error:
        # Without a command typer has printed the help, and the message is empty.
        if not error.format_message():
            return ExitStatus.CLEAN
        # A command line that cannot be understood is configuration: systemd must not try it again and again.
        print(f"server-ng: {error.format_message()}", file=sys.stderr)
        return ExitStatus.CONFIGURATION
    return status if isinstance(status, int) else ExitStatus.CLEAN
