"""Fixtures of the tests of the boundary."""

from tests.support.fixtures import backend

__all__ = ["backend"]
