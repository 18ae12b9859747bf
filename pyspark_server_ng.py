"""Spark imports every top-level module of this name's kind, and finds the source ``server_ng`` in it."""

from server_ng.spark.source import ServerNgSource as DefaultSource

__all__ = ["DefaultSource"]
