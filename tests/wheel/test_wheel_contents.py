"""The wheel holds the package, its extension and its licence, and nothing else."""

import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import pytest

from tests.tidy.tree import paths

pytestmark = pytest.mark.timeout(900)

SPARK_FINDS = "pyspark_server_ng.py"
NATIVE = {"server_ng/_native/__init__.py", "server_ng/_native/ffi.py", "server_ng/_native/lib_native.so"}
_METADATA = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}


def strangers(names: Iterable[str], package: set[str]) -> set[str]:
    """What a wheel holds beyond the package, its extension and its metadata."""
    return {name for name in names if name not in package | NATIVE and not _is_metadata(PurePosixPath(name))}


def _is_metadata(path: PurePosixPath) -> bool:
    return path.parts[0].endswith(".dist-info") and "/".join(path.parts[1:]) in _METADATA


def package_files(root: Path) -> set[str]:
    """The files of the Python package in the tree."""
    return {str(path) for path in paths(root) if path.is_relative_to("server_ng") or str(path) == SPARK_FINDS}


def test_the_wheel_holds_the_package_and_nothing_else(root: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = package_files(root)
    assert strangers(names, package) == set()
    assert (package | NATIVE) - names == set()


def test_what_can_be_run_still_can(root: Path, wheel: Path) -> None:
    runs = 0o111
    with zipfile.ZipFile(wheel) as archive:
        found = {each.filename for each in archive.infolist() if each.external_attr >> 16 & runs}
    wanted = {name for name in package_files(root) if (root / name).stat().st_mode & runs}
    assert wanted
    assert wanted <= found


def test_the_metadata_comes_from_the_tree(root: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        text = archive.read(metadata).decode()
    assert "\nName: server-ng\n" in text
    assert "\nLicense-Expression: Apache-2.0\n" in text
    assert "\nRequires-Dist: cffi" in text
    assert "\nRequires-Dist: pytest" not in text


def test_planted_strangers_are_found() -> None:
    names = [
        "server_ng/cli/__init__.py",
        "server_ng/_native/ffi.py",
        "server_ng-0.1.0.dist-info/RECORD",
        "server_ng-0.1.0.dist-info/sboms/rust.json",
        "tests/conftest.py",
        "native/abi/src/lib.rs",
    ]
    assert strangers(names, {"server_ng/cli/__init__.py"}) == {
        "server_ng-0.1.0.dist-info/sboms/rust.json",
        "tests/conftest.py",
        "native/abi/src/lib.rs",
    }
