"""The ``server-ng`` command."""

import sys
from contextlib import nullcontext

from server_ng.cli.streams import open_streams
from server_ng.process_signals import PROCESS_SIGNALS

__all__ = ["main"]


def main() -> int:
    """Runs the command line of this process and returns the exit status."""
    serves = sys.argv[1:2] == ["serve"]
    # A signal ends every other command at once: it has nothing to take down.
    with PROCESS_SIGNALS.held() if serves else nullcontext():
        try:
            open_streams(lose_output=serves)
        except OSError as error:
            return _refuse(f"a closed standard stream cannot be replaced by /dev/null: {error.strerror}")
        # Imported here, because the imports take most of a start.
        from server_ng.cli.app import main as run

        return run()


def _refuse(reason: str) -> int:
    from server_ng.wire.tables import ExitStatus

    if sys.stderr is not None:
        sys.stderr.write(f"server-ng: {reason}. Open it, or mount /dev.\n")
    return ExitStatus.CONFIGURATION
