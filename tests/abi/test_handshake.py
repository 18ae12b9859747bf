"""Half of a build does not run: the import says which half to make again."""

import subprocess
import sys

import pytest

from server_ng import binding
from server_ng.wire.tables import TABLES_DIGEST

# A stand-in for the library: everything is passed on, but for what the test replaces.
_STAND_IN = """
import server_ng._native as native

class Library:
    def __getattr__(self, name):
        if name == {name!r}:
            {does}
        return getattr(real, name)

real, native.lib = native.lib, Library()
"""


def imported(prelude: str) -> str:
    """Runs a prelude, then imports the binding, in a process of its own; returns what went wrong."""
    done = subprocess.run(
        [sys.executable, "-c", f"{prelude}\nimport server_ng.binding"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def test_a_whole_build_is_imported() -> None:
    assert imported("") == ""


def test_other_tables_are_refused() -> None:
    said = imported("import server_ng.wire.tables as tables\ntables.TABLES_DIGEST ^= 1")
    assert said.startswith("server_ng.binding.HandshakeError: the native library has tables ")
    assert "make generate" in said


def test_another_version_is_refused() -> None:
    said = imported(_STAND_IN.format(name="abi_version", does="return lambda: 0"))
    assert said.startswith("server_ng.binding.HandshakeError: the native library has boundary version 0")


@pytest.mark.parametrize("symbol", ["engine_drain", "probe_host", "engine_join"])
def test_a_missing_function_is_found_at_import(symbol: str) -> None:
    said = imported(_STAND_IN.format(name=symbol, does=f"raise AttributeError({symbol!r})"))
    assert said.startswith("server_ng.binding.HandshakeError: the native library has no such function")
    assert symbol in said


def test_the_library_says_what_it_is() -> None:
    described = binding.describe()
    assert set(described) == {"package", "tables", "profile"}
    assert int(described["tables"], 16) == TABLES_DIGEST
