"""The real Rust client, unmodified: a program plays each part of an application's life against a server."""

import subprocess
from pathlib import Path

import pytest

from tests.support.node import Node

SCENARIOS = ("streams", "partitioning", "polling", "offsets", "removal", "applications")


@pytest.fixture(scope="session")
def rust_client(root: Path) -> Path:
    """The program, built now if nobody has done it before."""
    built = subprocess.run(
        ["make", "--silent", "rust-client"], cwd=root, stdout=subprocess.PIPE, text=True, check=False
    )
    assert built.returncode == 0, "make rust-client says why on standard error"
    return Path(root, built.stdout.strip())


# Its crates are compiled before the tests by `make test`; a single test may have to do that first.
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_rust_client_is_served(rust_client: Path, served: Node, scenario: str) -> None:
    played = subprocess.run(
        [rust_client, served.tcp, scenario], capture_output=True, text=True, check=False, timeout=120
    )
    assert played.returncode == 0, played.stdout + played.stderr
