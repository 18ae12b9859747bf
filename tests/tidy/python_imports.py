"""Which module of a package imports which, read from the sources without running them."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from tests.tidy.tree import Source


def module_name(path: PurePosixPath) -> str:
    """The dotted name of a Python file."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules(files: Iterable[Source], package: str) -> dict[str, Source]:
    """The modules of a package by dotted name."""
    return {
        module_name(file.path): file for file in files if file.path.suffix == ".py" and file.within(package)
    }


def imports(source: Source, known: Mapping[str, Source]) -> set[str]:
    """The known modules that a source imports, inside functions and by a name in a string too."""
    found: set[str] = set()
    for name in _named(source):
        while name and name not in known:
            name = name.rpartition(".")[0]  # noqa: PLW2901 - `a.b.C` is the class C of the module a.b
        while name:
            if name in known:
                found.add(name)
            name = name.rpartition(".")[0]  # noqa: PLW2901 - importing a.b imports a first
    return found


def reached(roots: Iterable[str], known: Mapping[str, Source]) -> set[str]:
    """Every known module that the roots bring in, directly or not."""
    seen: set[str] = set()
    waiting = [root for root in roots if root in known]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(imports(known[name], known))
    return seen


def _named(source: Source) -> Iterator[str]:
    for node in ast.walk(ast.parse(source.text)):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom():
                base = _base(source, node)
                yield from (f"{base}.{alias.name}" for alias in node.names)
            case ast.Constant(value=str(text)) if "." in text and text.replace(".", "").isidentifier():
                yield text


def _base(source: Source, node: ast.ImportFrom) -> str:
    """The absolute name of what `from ... import` names."""
    if node.level == 0:
        return node.module or ""
    folder = source.path.parent
    for _ in range(node.level - 1):
        folder = folder.parent
    return ".".join([*folder.parts, *([node.module] if node.module else [])])
