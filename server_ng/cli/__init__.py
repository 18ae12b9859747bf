"""The ``server-ng`` command."""

from server_ng.cli.app import main

__all__ = ["main"]
