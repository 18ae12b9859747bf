"""`make help` tells the whole command surface, and a missing tool is named in one sentence."""

import os
import re
import subprocess
from pathlib import Path

import pytest

_PHONY = re.compile(r"^\.PHONY:(?P<names>.*)$", re.MULTILINE)
_RULE = re.compile(r"^(?P<name>[a-z][a-z-]*):", re.MULTILINE)
_TOLD = re.compile(r"^\s+(?P<name>[a-z-]+)\s+\S", re.MULTILINE)


def targets(makefile: str) -> set[str]:
    """The commands of a Makefile: its phony targets and every rule with a plain name."""
    phony = {name for found in _PHONY.finditer(makefile) for name in found["names"].split()}
    return phony | {found["name"] for found in _RULE.finditer(makefile)}


def run_make(root: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", "--silent", *arguments],
        cwd=root,
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_lists_every_command(root: Path) -> None:
    told = {found["name"] for found in _TOLD.finditer(run_make(root, "help").stdout)}
    assert told == targets((root / "Makefile").read_text())


def test_planted_command_is_found() -> None:
    assert targets(".PHONY: build run\n\nbuild: x ## b\n\nhidden:\n\ttrue\n") == {"build", "run", "hidden"}


# What preflight itself needs, so that a PATH with nothing else stands for a machine without the tools.
_SHELL_TOOLS = ("awk", "make", "sh")
_SENTENCES = {
    "cargo": "cargo 1.95 or newer is needed and was not found: install Rust with rustup.",
    "cc": "A C compiler is needed and was not found: install gcc.",
    "git": "git is needed and was not found: install git.",
    "python3": "Python 3.11 or newer is needed and was not found: install python3, or set PYTHON to one.",
}


@pytest.fixture
def bare_path(tmp_path: Path) -> Path:
    """A folder for PATH that holds the shell's own tools only."""
    for tool in _SHELL_TOOLS:
        found = subprocess.run(["which", tool], capture_output=True, text=True, check=True).stdout.strip()
        (tmp_path / tool).symlink_to(found)
    return tmp_path


def test_preflight_is_silent_where_nothing_is_missing(root: Path) -> None:
    done = run_make(root, "preflight")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_preflight_names_each_missing_tool_in_a_sentence(root: Path, bare_path: Path) -> None:
    done = run_make(root, "preflight", PATH=str(bare_path))
    assert done.returncode != 0
    for sentence in _SENTENCES.values():
        assert sentence in done.stderr.splitlines()


def test_preflight_refuses_an_old_cargo(root: Path, bare_path: Path) -> None:
    cargo = bare_path / "cargo"
    cargo.write_text("#!/bin/sh\necho 'cargo 1.94.1 (29ea6fb6a 2026-01-02)'\n")
    cargo.chmod(0o755)
    assert _SENTENCES["cargo"] in run_make(root, "preflight", PATH=str(bare_path)).stderr.splitlines()
    cargo.write_text("#!/bin/sh\necho 'cargo 1.100.0'\n")
    assert _SENTENCES["cargo"] not in run_make(root, "preflight", PATH=str(bare_path)).stderr.splitlines()


def test_crates_of_the_rust_client_that_cannot_be_fetched_are_told_in_a_sentence(
    root: Path, tmp_path: Path
) -> None:
    done = run_make(root, "rust-client", CARGO_HOME=str(tmp_path), CARGO_NET_OFFLINE="true")
    assert done.returncode != 0
    assert done.stderr.splitlines()[-2].startswith("The crates of the real Rust client are not here")
    assert done.stdout == ""
