"""What ``server-ng recover`` says about a directory that it cannot look at."""

import subprocess
import sys
from pathlib import Path

import pytest

from server_ng.wire.tables import ExitStatus


@pytest.mark.parametrize(
    ("name", "said"),
    [("empty", "is not a data directory: it has no LAYOUT"), ("\udcff", "it must be UTF-8 text")],
)
def test_a_directory_that_no_server_can_have_is_refused(tmp_path: Path, name: str, said: str) -> None:
    directory = tmp_path / name
    directory.mkdir()
    command = [str(Path(sys.executable).with_name("server-ng")), "recover", str(directory)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout) == (ExitStatus.CONFIGURATION, "")
    assert ended.stderr.count("\n") == 1
    assert said in ended.stderr
