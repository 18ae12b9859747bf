"""A function fits on a screen. The limit only ever goes down."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.tidy import rust_source
from tests.tidy.tree import GENERATED, Offence, Source, offences, planted, sources

LINES_MAX = 70


def long_functions(source: Source) -> Iterator[Offence]:
    """Each function, Rust or Python, with more lines than the limit."""
    if str(source.path) in GENERATED:
        return
    for name, line, length in _measured(source):
        if length > LINES_MAX:
            yield Offence(source.path, line, f"{name} has {length} lines, {LINES_MAX} are the limit")


def _measured(source: Source) -> Iterator[tuple[str, int, int]]:
    if source.path.suffix == ".rs":
        for function in rust_source.functions(source.text):
            yield function.name, function.line, function.length
        return
    for node in ast.walk(ast.parse(source.text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def test_functions_are_short(root: Path) -> None:
    assert offences(long_functions, sources(root, ".py", ".rs")) == []


def test_planted_long_functions_are_found() -> None:
    rust = "fn f() {\n" + "    g();\n" * (LINES_MAX - 1) + "}\n"
    python = "async def f():\n" + "    g()\n" * LINES_MAX
    assert len(offences(long_functions, [planted("native/io/src/ring.rs", rust)])) == 1
    assert len(offences(long_functions, [planted("server_ng/serve.py", python)])) == 1
    assert (
        offences(long_functions, [planted("native/io/src/ring.rs", rust.replace("    g();\n", "", 1))]) == []
    )
