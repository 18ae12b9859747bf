"""Two processes that order their sets and dicts of text differently come to the same rows."""

import os
import subprocess
import sys
from pathlib import Path

from server_ng.wire.tables import ErrorCode
from tests.support.metadata_log import MetadataLog
from tests.unit.metadata.scripted_history import history


def test_all_of_the_history_is_served_but_its_end() -> None:
    log = MetadataLog()
    *results, last = [log.do(request).result for request in history()]
    assert set(results) == {0}
    assert last == ErrorCode.STREAM_NAME_ALREADY_EXISTS


def run(root: Path, seed: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "tests.unit.metadata.scripted_history"],
        cwd=root,
        env=os.environ | {"PYTHONHASHSEED": seed},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def test_a_history_comes_to_the_same_under_any_hash_seed(root: Path) -> None:
    first = run(root, "1")
    assert first == run(root, "2")
    assert len(first.split()) == 2
