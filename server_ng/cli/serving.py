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
        help="Delete all data before the start. Only for a data directory that server-ng created and no "
        "process holds; other files in it are kept.",
    ),
]
DefaultRootOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--with-default-root-credentials",
        help="Use root user iggy with password iggy, unless IGGY_ROOT_USERNAME and IGGY_ROOT_PASSWORD "
        "are set. For development: refused if other machines can connect.",
    ),
]
ReplicaOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--replica-id", metavar="N", help="Number of this node: 0, because clusters are not built yet."
    ),
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

    Exits with status 0 after a clean stop (also before it is ready), 65 for damaged data,
    70 for an internal fault, 74 if the journal cannot be written, 75 after an unclean stop,
    and 78 for an invalid configuration.
    """
    # A start creates no garbage, so that each run of the collector would be wasted time.
    gc.disable()
    if replica_id:
        return _refuse(
            f"--replica-id {replica_id}: this node runs alone, as number 0. Omit the option or set it to 0."
        )
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
    """Imports structlog while rich looks absent.

    Otherwise structlog imports rich for tracebacks, which costs 30 ms at the start and 4 MiB. We print
    tracebacks plainly.
    """
    if "rich" in sys.modules or "structlog" in sys.modules:
        return
    # The import system treats None as a module that does not exist.
    sys.modules["rich"] = None  # type: ignore[assignment]
    try:
        import_module("structlog")
    finally:
        del sys.modules["rich"]
