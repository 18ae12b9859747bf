"""``server-ng serve``: the daemon."""

import gc
import os
import sys
from importlib import import_module
from typing import Annotated, TypeAlias

import typer

from server_ng.cli.options import FileOption, SetOption, load_or_exit
from server_ng.config.root_credential import is_default_root, with_default_root
from server_ng.wire.tables import ExitStatus

__all__ = ["serve"]


FreshOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--fresh",
        "-f",
        help="Delete all data before the start. Only a directory that this server founded and no process "
        "holds is touched; files of others in it stay.",
    ),
]
DefaultRootOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--with-default-root-credentials",
        help="Name the root user iggy with the password iggy, unless IGGY_ROOT_USERNAME and "
        "IGGY_ROOT_PASSWORD say otherwise. For development: refused if other machines can connect.",
    ),
]
ReplicaOption: TypeAlias = Annotated[
    int | None,
    typer.Option("--replica-id", metavar="N", help="Number of this node: 0, until clusters are served."),
]


def serve(
    config: FileOption = None,
    set_: SetOption = None,
    *,
    fresh: FreshOption = False,
    with_default_root_credentials: DefaultRootOption = False,
    replica_id: ReplicaOption = None,
) -> int:
    """Run the server until SIGTERM or SIGINT.

    Ends with status 0 after a clean stop, also of a start that is not ready yet,
    65 for damaged data, 70 for an internal fault, 74 for a journal that cannot be written,
    75 for a stop that was not clean, and 78 for a configuration that cannot be used.
    """
    # Nothing that a start makes is garbage: the collector would look for it in vain, again and again.
    gc.disable()
    if replica_id:
        return _refuse(f"--replica-id {replica_id}: a node runs alone, as 0. Leave it out or set it to 0.")
    environment = with_default_root(os.environ) if with_default_root_credentials else os.environ
    loaded = load_or_exit(config, set_, environment)
    address = loaded.settings.tcp.address
    if with_default_root_credentials and is_default_root(loaded.root) and not address.is_loopback:
        return _refuse(
            f"--with-default-root-credentials: other machines can reach tcp.address = {address}, and this "
            "password is well known. Listen on 127.0.0.1, or set IGGY_ROOT_USERNAME and IGGY_ROOT_PASSWORD."
        )
    _import_structlog_without_rich()
    from server_ng import bootstrap

    return bootstrap.serve(loaded, fresh=fresh)


def _refuse(sentence: str) -> int:
    print(f"server-ng: {sentence}", file=sys.stderr)
    return ExitStatus.CONFIGURATION


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
