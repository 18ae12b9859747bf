"""From a configuration to a running daemon, and down again."""

from server_ng.bootstrap.daemon import serve

__all__ = ["serve"]
