"""Unsafe code stands in two crates only, and each use says which fact makes it sound."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.tidy.rust_source import blank
from tests.tidy.tree import Offence, Source, offences, planted, sources

ALLOWED = ("native/io", "native/abi")
# A declaration (`unsafe fn`, `unsafe extern`) hands the duty on; a block or an impl takes it and owes why.
_TAKEN = re.compile(r"\bunsafe\s*(?:\{|impl\b)")
_ANY = re.compile(r"\bunsafe\b")
# How far above a use its reason may stand: the statement the block belongs to may begin a few lines earlier.
_REACH = 8


def unsafe_out_of_place(source: Source) -> Iterator[Offence]:
    """Each mention of the keyword outside of the crates that may use it."""
    if source.within(*ALLOWED):
        return
    for number, line in enumerate(blank(source.text).splitlines(), start=1):
        if _ANY.search(line):
            yield Offence(source.path, number, f"unsafe is for {' and '.join(ALLOWED)} only")


def unsafe_without_reason(source: Source) -> Iterator[Offence]:
    """Each unsafe block or impl with no SAFETY comment beside it."""
    lines = source.lines
    code = blank(source.text).splitlines()
    for number, line in enumerate(code, start=1):
        if _TAKEN.search(line) and not _has_reason(lines, code, number - 1):
            yield Offence(source.path, number, "say why this is sound: // SAFETY: ...")


def _has_reason(lines: list[str], code: list[str], at: int) -> bool:
    """Whether a reason stands on the line or above it, nearer than any other use."""
    for index in range(at, max(-1, at - _REACH), -1):
        if "SAFETY:" in lines[index]:
            return True
        if index < at and _TAKEN.search(code[index]):
            return False
        if index < at and code[index].strip() == "}":
            return False
    return False


def test_unsafe_stands_in_two_crates(root: Path) -> None:
    assert offences(unsafe_out_of_place, sources(root, ".rs")) == []


def test_each_use_of_unsafe_has_a_reason(root: Path) -> None:
    assert offences(unsafe_without_reason, sources(root, ".rs")) == []


def test_planted_unsafe_is_found() -> None:
    text = 'fn f() {\n    // unsafe\n    let s = "unsafe";\n    unsafe { g() }\n}\n'
    assert offences(unsafe_out_of_place, [planted("native/wire/src/frame.rs", text)]) == [
        "native/wire/src/frame.rs:4: unsafe is for native/io and native/abi only"
    ]
    assert offences(unsafe_out_of_place, [planted("native/io/src/ring.rs", text)]) == []


def test_planted_use_without_reason_is_found() -> None:
    bare = planted("native/io/src/ring.rs", "fn f() {\n    unsafe { g() }\n}\n")
    second = planted("native/io/src/ring.rs", "// SAFETY: g is pure.\nunsafe { g() };\nunsafe { h() };\n")
    reasoned = planted(
        "native/io/src/ring.rs", "// SAFETY: g is pure.\nlet x =\n    unsafe { g() };\nunsafe fn h();\n"
    )
    assert len(offences(unsafe_without_reason, [bare])) == 1
    assert len(offences(unsafe_without_reason, [second])) == 1
    assert offences(unsafe_without_reason, [reasoned]) == []
