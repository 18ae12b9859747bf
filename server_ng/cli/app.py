"""The tree of commands, and how the process ends."""

import sys

import typer

from server_ng.cli import configuration, inspection, jobs, leasing, recovery, serving, versions
from server_ng.wire.tables import ExitStatus

__all__ = ["main"]

_app = typer.Typer(
    name="server-ng",
    help="A persistent message-streaming server for Apache Iggy clients.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
_app.command("serve")(serving.serve)
_app.add_typer(configuration.app, name="config")
_app.add_typer(inspection.app, name="inspect")
_app.add_typer(leasing.app, name="lease")
_app.command("recover")(recovery.recover)
_app.command("spark", context_settings=jobs.CONTEXT)(jobs.spark)
_app.command("version")(versions.version)


def main() -> int:
    """Runs the command line of this process and returns the exit status."""
    try:
        status = _app(standalone_mode=False)
    except typer.TyperException as error:
        # A command line that cannot be understood is configuration: systemd must not try it again and again.
        message = error.format_message()
        # Without a command the help was printed already, and the message is empty.
        if message:
            print(f"server-ng: {message}", file=sys.stderr)
        return ExitStatus.CONFIGURATION
    return status if isinstance(status, int) else ExitStatus.CLEAN
