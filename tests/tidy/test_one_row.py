"""A setting, a metric, an event and a command are one row each: other files that show them are generated.

What uses the row still has to be written, and the line of a command in `tests/sdk/README.md`.
"""

import filecmp
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from server_ng.wire.tables import COMMANDS, EVENTS, METRICS

# All that the generators read, and all that they write.
PARTS = ("Cargo.toml", "Cargo.lock", "native", "server_ng", "configs", "docs")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "_native", "target", "*.new")
TABLES = "native/wire/src/table"
PYTHON = "server_ng/wire/tables.py"
WRITTEN_BY_CARGO = {
    "wire": PYTHON,
    "config": "server_ng/config/table.py",
    "engine": "server_ng/engine/table.py",
}
# A native library with other tables would have to be built; what is written here comes from the tables alone.
WITHOUT_LIBRARY = "import sys, unittest.mock as mock; sys.modules['server_ng.binding'] = mock.MagicMock()"
WRITTEN_BY_PYTHON = {
    "configs/server.toml": "from server_ng.config.render import default_file as page",
    "docs/coming-from-iggy.md": "from server_ng.config.iggy_page import iggy_page as page",
    "docs/metrics.md": "from server_ng.observe.catalogue import metrics_page as page",
}


@pytest.fixture(scope="module")
def copy(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree without what was built."""
    copy = tmp_path_factory.mktemp("tree")
    for part in PARTS:
        if (root / part).is_dir():
            shutil.copytree(root / part, copy / part, ignore=LEFT_OUT)
        else:
            shutil.copy2(root / part, copy / part)
    return copy


def generate(tree: Path) -> None:
    """Writes what `make generate` writes, but for the C header, which has no rows."""
    target = tree / "target"
    build = ["cargo", "build", "--quiet", "--offline", "--locked", "--target-dir", str(target)]
    subprocess.run([*build, "--package", "ng-wire", "--bin", "ng-tables"], cwd=tree, check=True)
    for which, name in WRITTEN_BY_CARGO.items():
        with (tree / name).open("wb") as file:
            subprocess.run([target / "debug" / "ng-tables", which], stdout=file, check=True)
    for name, imported in WRITTEN_BY_PYTHON.items():
        program = f"{WITHOUT_LIBRARY}; {imported}; print(page(), end='')"
        with (tree / name).open("wb") as file:
            subprocess.run([sys.executable, "-B", "-c", program], cwd=tree, stdout=file, check=True)


def differing(tree: Path, other: Path) -> Iterator[str]:
    """The files of a tree that are other than in another one, or not there."""
    for part in PARTS:
        for path in [tree / part, *(tree / part).rglob("*")]:
            name = path.relative_to(tree)
            if path.is_file() and not (
                (other / name).is_file() and filecmp.cmp(path, other / name, shallow=False)
            ):
                yield str(name)


def add_row(table: Path, end: str, row: str) -> None:
    """Adds a row at the end of a table, which is the first such line after it has begun."""
    text = table.read_text()
    # Macros stand before the table that they declare.
    at = text.index(end, text.rindex("! {\n"))
    table.write_text(text[:at] + "\n" + row + text[at:])


SETTING = """\
        "poll.imaginary_max", count(7, 1, 9, "things"), OURS,
            "Imaginary things of a poll."
            => imaginary_max: u32 = number(1);"""
METRIC = f"""\
    /// Imaginary things.
    Imaginary = {len(METRICS)}, Counter, "imaginary_total";"""
EVENT = f"""\
    Imaginary = {EVENTS[-1].code + 1}, "imaginary", Info, "There are {{things}} things.", "things";"""
COMMAND = f"""\
    Imaginary = {COMMANDS[-1].code + 1}, "imaginary.list", NonReplicated, Local, Session;"""

END = "\n}\n"


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("table", "end", "row", "generated"),
    [
        (
            "setting/rows.rs",
            "\n    }\n    given {",
            SETTING,
            {PYTHON, "server_ng/config/table.py", "server_ng/engine/table.py", "configs/server.toml"},
        ),
        ("metric.rs", END, METRIC, {PYTHON, "docs/metrics.md"}),
        ("event.rs", END, EVENT, {PYTHON}),
        ("command.rs", END, COMMAND, {PYTHON}),
    ],
    ids=["setting", "metric", "event", "command"],
)
def test_one_row_is_all_that_is_written(
    root: Path, copy: Path, table: str, end: str, row: str, generated: set[str]
) -> None:
    path = f"{TABLES}/{table}"
    add_row(copy / path, end, row)
    generate(copy)
    changed = set(differing(copy, root))
    shutil.copy2(root / path, copy / path)
    for name in changed:
        shutil.copy2(root / name, copy / name)
    assert changed == {path} | generated
    assert all("imaginary" not in (root / name).read_text().lower() for name in changed)
