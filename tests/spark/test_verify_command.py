"""`server-ng spark verify`, as an operator calls it."""

import json
from pathlib import Path

import pytest

from server_ng.spark.command import main
from tests.support.lease_files import Message, segment, write_lease


def test_a_lease_that_is_right_and_one_that_rotted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = segment([[Message(0, b"a"), Message(1, b"b")]])
    second = segment([[Message(2, b"c")]], sealed=False)
    write_lease(tmp_path, {0: [first, second]})
    assert main(["verify", str(tmp_path), "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[-1] == {"segments": 2, "damaged": 0, "messages": 3}
    path = tmp_path / second.cut.path
    rotten = bytearray(path.read_bytes())
    rotten[260] ^= 1
    path.write_bytes(rotten)
    assert main(["verify", str(tmp_path)]) == 6
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "2 segments, 1 damaged"
    assert str(path) in said[0]
    assert "byte 0, from offset 2 on" in said[0]


def test_what_is_no_lease(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(tmp_path)]) == 5
    assert "not a lease" in capsys.readouterr().err
    assert main(["no-such-job"]) == 78
