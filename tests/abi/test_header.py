"""The committed header is the boundary that the built extension has."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cffi import FFI

from server_ng import _native
from server_ng._native import ffi, lib

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_FUNCTION = re.compile(r"\b([a-z_]+)\(")


@dataclass(frozen=True, slots=True)
class Declared:
    """The committed header, with the built library opened through it."""

    ffi: FFI
    library: Any
    functions: frozenset[str]


@pytest.fixture(scope="module")
def declared(root: Path) -> Declared:
    """What the committed header declares."""
    text = _COMMENT.sub("", (root / "native" / "abi" / "include" / "server_ng.h").read_text())
    header = FFI()
    header.cdef(text)
    (built,) = Path(str(_native.__file__)).parent.glob("*.so")
    return Declared(header, header.dlopen(str(built)), frozenset(_FUNCTION.findall(text)))


def test_every_function_has_the_declared_type(declared: Declared) -> None:
    built = {
        name: ffi.typeof(getattr(lib, name)).cname for name in dir(lib) if not name.startswith("STATUS_")
    }
    assert built == {
        name: declared.ffi.typeof(getattr(declared.library, name)).cname for name in declared.functions
    }


def test_every_status_has_the_declared_number(declared: Declared) -> None:
    numbers = {name: getattr(lib, name) for name in dir(lib) if name.startswith("STATUS_")}
    elements = declared.ffi.typeof("Status").elements
    assert numbers == {name: number for number, name in elements.items()}
