"""The Python package: nothing unreached, nothing done on import, each part under an import contract."""

import ast
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.tidy.python_imports import imports, modules, reached
from tests.tidy.tree import Source, planted, sources

PACKAGE = "server_ng"


def entry_points(pyproject: Mapping[str, object]) -> set[str]:
    """The modules that something outside of the package starts from."""
    project = pyproject["project"]
    assert isinstance(project, dict)
    tables: list[dict[str, str]] = [project["scripts"], *project.get("entry-points", {}).values()]
    targets = {target for table in tables for target in table.values()}
    # Spark imports the module at the top, which imports this one.
    spark = f"{PACKAGE}.spark.source"
    return {target.partition(":")[0] for target in targets} | {f"{PACKAGE}.__main__", spark}


def layer_names(pyproject: Mapping[str, object]) -> set[str]:
    """The parts of the package that a layers contract places."""
    tool = pyproject["tool"]
    assert isinstance(tool, dict)
    contracts: list[dict[str, list[str]]] = tool["importlinter"]["contracts"]
    rows = [row for contract in contracts for row in contract.get("layers", [])]
    return {name.strip() for row in rows for name in row.split("|")}


def parts(known: Iterable[str]) -> set[str]:
    """The first level below the package."""
    return {".".join(name.split(".")[:2]) for name in known} - {PACKAGE, f"{PACKAGE}.__main__"}


def import_lines(source: Source) -> list[int]:
    """Where a source imports anything."""
    nodes = ast.walk(ast.parse(source.text))
    return [node.lineno for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def read_pyproject(root: Path) -> dict[str, object]:
    return tomllib.loads((root / "pyproject.toml").read_text())


def test_every_module_is_reached_from_an_entry_point(root: Path) -> None:
    known = modules(sources(root, ".py"), PACKAGE)
    assert set(known) - reached(entry_points(read_pyproject(root)), known) == set()


def test_every_part_has_a_layer(root: Path) -> None:
    known = modules(sources(root, ".py"), PACKAGE)
    assert parts(known) == layer_names(read_pyproject(root))


def test_the_package_itself_imports_nothing(root: Path) -> None:
    package = modules(sources(root, ".py"), PACKAGE)[PACKAGE]
    assert import_lines(package) == []


def test_only_the_binding_imports_the_native_library(root: Path) -> None:
    known = modules(sources(root, ".py"), PACKAGE)
    native = {f"{PACKAGE}._native": planted(f"{PACKAGE}/_native/__init__.py", "")}
    importers = {name for name, source in known.items() if imports(source, known | native) & set(native)}
    assert importers == {f"{PACKAGE}.binding"}


def test_planted_module_that_nobody_imports_is_found() -> None:
    files = [
        planted("server_ng/__init__.py", '"""Nothing."""'),
        planted("server_ng/cli/__init__.py", "def main():\n    from server_ng.cli import serve\n"),
        planted("server_ng/cli/serve.py", "from ..clock import now\nPLUGIN = 'server_ng.plugin'\n"),
        planted("server_ng/clock.py", "import time\n"),
        planted("server_ng/plugin.py", ""),
        planted("server_ng/forgotten.py", ""),
    ]
    known = modules(files, PACKAGE)
    assert set(known) - reached({"server_ng.cli"}, known) == {"server_ng.forgotten"}


def test_planted_part_without_a_layer_is_found() -> None:
    contract = {"layers": ["server_ng.cli", "server_ng.auth | server_ng.observe"]}
    pyproject = {"tool": {"importlinter": {"contracts": [contract]}}}
    known = {"server_ng", "server_ng.__main__", "server_ng.cli.serve", "server_ng.auth", "server_ng.rogue"}
    assert parts(known) - layer_names(pyproject) == {"server_ng.rogue"}
    assert layer_names(pyproject) - parts(known) == {"server_ng.observe"}


def test_planted_import_is_found() -> None:
    assert import_lines(planted("server_ng/__init__.py", '"""Doc."""\n\nfrom os import path\n')) == [3]
