"""``server-ng serve``: the daemon."""

import gc
import sys
from importlib import import_module

from server_ng.cli.options import FileOption, SetOption, load_or_exit

__all__ = ["serve"]


def serve(config: FileOption = None, set_: SetOption = None) -> int:
    """Run the server until SIGTERM or SIGINT.

    Ends with status 0 after a clean stop, also of a start that is not ready yet,
    65 for damaged data, 70 for an internal fault, 74 for a journal that cannot be written,
    75 for a stop that was not clean, and 78 for a configuration that cannot be used.
    """
    # Nothing that a start makes is garbage: the collector would look for it in vain, again and again.
    gc.disable()
    loaded = load_or_exit(config, set_)
    _import_structlog_without_rich()
    from server_ng import bootstrap

    return bootstrap.serve(loaded)


def _import_structlog_without_rich() -> None:
    """Imports structlog in a way that it finds no rich to import.

    It would take rich for tracebacks on a terminal, which we print plainly: that is 30 ms of the start
    and 4 MiB of the daemon.
    """
    if "rich" in sys.modules or "structlog" in sys.modules:
        return
    # The import system takes None for a module that is known to be absent.
    sys.modules["rich"] = None  # type: ignore[assignment]
    try:
        import_module("structlog")
    finally:
        del sys.modules["rich"]
