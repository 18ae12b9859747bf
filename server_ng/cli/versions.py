"""``server-ng version``: which build this is."""

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from typing import Annotated, TypeAlias

import typer

from server_ng.wire.tables import PROTOCOL_VERSION

__all__ = ["VersionOption", "version"]


def version() -> None:
    """Print the versions of the package, of the protocol and of the native library."""
    from server_ng import binding

    try:
        package = installed_version("server-ng")
    except PackageNotFoundError:
        package = "not installed"
    # Ten bits each, as the protocol packs it.
    protocol = ".".join(str(PROTOCOL_VERSION >> shift & 0x3FF) for shift in (20, 10, 0))
    print(f"server-ng {package}")
    print(f"protocol {protocol}")
    native = binding.describe()
    print(f"native {native['package']} ({native['profile']} build)")


def _print_and_exit(asked: bool) -> None:
    if asked:
        version()
        raise typer.Exit


VersionOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--version",
        is_eager=True,
        callback=_print_and_exit,
        help="Print the versions, as the command version does.",
    ),
]
