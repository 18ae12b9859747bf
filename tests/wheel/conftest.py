"""A wheel of this tree, and an environment far from the tree that has nothing but it."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True, slots=True)
class Installation:
    """An environment with the wheel and the locked packages it needs."""

    folder: Path
    environment: dict[str, str]

    @property
    def command(self) -> Path:
        """The installed `server-ng`."""
        return self.folder / "bin" / "server-ng"


def clean_environment() -> dict[str, str]:
    """The variables of this process, less those that lead a child back to the tree or to this run of make."""
    leading = ("MAKE", "MFLAGS", "PYTHON", "VIRTUAL_ENV", "SERVER_NG", "IGGY_")
    return {name: value for name, value in os.environ.items() if not name.startswith(leading)}


@pytest.fixture(scope="session")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, with the extension that the other tests run."""
    folder = tmp_path_factory.mktemp("dist")
    # maturin would take this for the declarations of the library; the build has to drop it.
    stray = root / os.environ.get("CARGO_TARGET_DIR", "target") / "header.h"
    stray.parent.mkdir(parents=True, exist_ok=True)
    stray.write_text("a stray header\n")
    command = ["make", "wheel", "WHEEL_PROFILE=ci", f"DIST={folder}"]
    subprocess.run(command, cwd=root, env=clean_environment(), check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installation(root: Path, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The wheel installed as a user would, from the locks and without the tree."""
    folder = tmp_path_factory.mktemp("elsewhere")
    environment = clean_environment()
    subprocess.run([sys.executable, "-m", "venv", folder], env=environment, check=True)
    pip = [f"{folder}/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    locked = ["--require-hashes", "--only-binary", ":all:", "-r", f"{root}/requirements.lock"]
    subprocess.run([*pip, *locked], cwd=folder, env=environment, check=True)
    subprocess.run([*pip, "--no-index", "--no-deps", str(wheel)], cwd=folder, env=environment, check=True)
    return Installation(folder, environment)
