"""The ``server-ng`` command."""

import sys
from contextlib import nullcontext

from server_ng.early_signals import EARLY_SIGNALS

__all__ = ["main"]


def main() -> int:
    """Runs the command line of this process and returns the exit status."""
    serves = sys.argv[1:2] == ["serve"]
    # A signal ends every other command at once: it has nothing to take down.
    with EARLY_SIGNALS.held() if serves else nullcontext():
        # Imported here, because the imports take most of a start.
        from server_ng.cli.app import main as run

        return run()
