"""Fixtures of the tests that run servers."""

from tests.support.fixtures import backend, make_node, served, start_node

__all__ = ["backend", "make_node", "served", "start_node"]
