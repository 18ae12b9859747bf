"""Mutants are made in a copy, which is equal to the tree before and after each."""

import subprocess
from pathlib import Path

import pytest

from tests.support.mutants.mutant import Mutant, Place
from tests.support.mutants.working_copy import WorkingCopy

MUTANT = Mutant("ng-vsr", "src/lib.rs", "replace + with -", Place(1, 3), Place(1, 4), "-")


@pytest.fixture
def copy(tmp_path: Path) -> WorkingCopy:
    """A tree of two files."""
    tree = tmp_path / "tree"
    (tree / "src").mkdir(parents=True)
    (tree / "src/lib.rs").write_text("1 + 1\n")
    (tree / ".gitignore").write_text("target\n")
    subprocess.run(["git", "init", "--quiet"], cwd=tree, check=True)
    made = WorkingCopy(tree, tmp_path / "copy")
    made.refresh()
    return made


def texts(folder: Path) -> dict[str, str]:
    found = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(folder)): path.read_text() for path in found}


def test_a_mutant_is_made_in_the_copy_alone(copy: WorkingCopy) -> None:
    with copy.with_mutant(MUTANT):
        assert (copy.folder / "src/lib.rs").read_text() == "1 - 1\n"
        assert (copy.root / "src/lib.rs").read_text() == "1 + 1\n"
    assert texts(copy.folder) == texts(copy.root)


def test_an_interrupted_mutant_is_undone(copy: WorkingCopy) -> None:
    (copy.folder / "src/lib.rs").write_text("1 - 1\n")
    (copy.folder / "src/left.rs").write_text("\n")
    copy.refresh()
    assert texts(copy.folder) == texts(copy.root)


def test_an_equal_file_is_not_written_again(copy: WorkingCopy) -> None:
    before = (copy.folder / "src/lib.rs").stat()
    copy.refresh()
    after = (copy.folder / "src/lib.rs").stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)
