"""What is generated equals what its source generates now."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.tidy.tree import GENERATED


def stale(committed: Path, generated: Path) -> list[str]:
    """The generated files that differ between two trees, or that one of them lacks."""
    return [name for name in sorted(GENERATED) if _read(committed / name) != _read(generated / name)]


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


# May have to compile the generators first.
@pytest.mark.timeout(900)
def test_generated_files_equal_their_source(root: Path, tmp_path: Path) -> None:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))
    }
    subprocess.run(["make", "generate", f"GENERATED={tmp_path}"], cwd=root, env=environment, check=True)
    assert stale(root, tmp_path) == [], "run `make generate`"


def test_planted_difference_is_found(tmp_path: Path) -> None:
    for tree in ("committed", "generated"):
        for name in GENERATED:
            path = tmp_path / tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("same\n")
    committed, generated = tmp_path / "committed", tmp_path / "generated"
    assert stale(committed, generated) == []
    (committed / "configs/server.toml").write_text("edited by hand\n")
    (committed / "server_ng/wire/tables.py").unlink()
    assert stale(committed, generated) == ["configs/server.toml", "server_ng/wire/tables.py"]
