"""The package as it is installed: one version, one command, and an import that costs nothing."""

import subprocess
import sys
import tomllib
from importlib.metadata import distribution, version
from pathlib import Path


def test_the_version_is_that_of_the_workspace(root: Path) -> None:
    workspace = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]
    assert version("server-ng") == workspace["package"]["version"]


def test_the_command_is_installed() -> None:
    (command,) = distribution("server-ng").entry_points.select(group="console_scripts")
    assert (command.name, command.value) == ("server-ng", "server_ng.cli:main")


def test_importing_the_package_brings_in_nothing() -> None:
    script = (
        "import sys; before = set(sys.modules); import server_ng; print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "['server_ng']\n"
