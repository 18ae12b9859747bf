"""`server-ng spark`, as an operator calls it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from server_ng.spark.command import main
from tests.spark.cutting_server import CuttingServer
from tests.spark.topics import sealed
from tests.support.lease_files import Message, segment, write_lease


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_lease_that_is_right_and_one_that_rotted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = segment([[Message(0, b"a"), Message(1, b"b")]])
    second = segment([[Message(2, b"c")]], sealed=False)
    write_lease(tmp_path, {0: [first, second]})
    assert main(["verify", "--lease", str(tmp_path), "--json"]) == 0
    assert lines(capsys)[-1] == {"segments": 2, "damaged": 0, "messages": 3}
    path = tmp_path / second.cut.path
    rotten = bytearray(path.read_bytes())
    rotten[260] ^= 1
    path.write_bytes(rotten)
    assert main(["verify", "--lease", str(tmp_path)]) == 6
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "segments=2  damaged=1  messages=3"
    assert str(path) in said[0]
    assert "byte 0, from offset 2 on" in said[0]


def test_plan_status_and_gc(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with CuttingServer(tmp_path / "server") as server:
        topic = ["--control", str(server.control), "--topic", "orders/events", "--json"]
        server.holds({0: [sealed(0, 20)], 1: []})
        assert main(["plan", *topic]) == 0
        assert lines(capsys)[-1] == {"partitions": 2, "messages": 20}
        assert server.held() == []
        server.holds({0: []})
        assert main(["plan", *topic]) == 3
        lease = server.answer({"verb": "cut", "partitions": None})["lease"]
        capsys.readouterr()
        assert main(["status", *topic[:2], "--json"]) == 0
        assert lines(capsys) == [{"lease": lease}]
        assert main(["gc", *topic[:2], str(lease)]) == 0
        assert server.held() == []
        server.refusal = ("busy", "Later.")
        assert main(["plan", *topic]) == 75
        server.refusal = ("unknown_topic", "There is none.")
        assert main(["plan", *topic]) == 78


def test_sql_over_a_topic(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_lease(tmp_path, {0: [sealed(0, 20)]})
    query = "select count(*) messages, max(offset) latest from topic"
    assert main(["sql", "--lease", str(tmp_path), "--json", query]) == 0
    assert lines(capsys) == [{"messages": 20, "latest": 19}]
    assert main(["sql", "--lease", str(tmp_path), "select 1 one"]) == 0
    assert "|one|" in capsys.readouterr().out


def test_what_cannot_be_done_is_said_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "--lease", str(tmp_path)]) == 5
    assert "not a lease" in capsys.readouterr().err
    assert main(["verify"]) == 78
    assert "give --lease" in capsys.readouterr().err
    assert main(["no-such-job"]) == 78
    assert main(["--help"]) == 0


def test_the_command_of_the_server_finds_it(tmp_path: Path) -> None:
    write_lease(tmp_path, {0: [sealed(0, 3)]})
    command = [sys.executable, "-m", "server_ng", "spark", "plan", "--lease", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("partitions=1  messages=3\n")


def test_the_server_imports_nothing_of_it() -> None:
    script = (
        "import sys, server_ng.cli, server_ng.bootstrap.daemon\n"
        "heavy = ('pyspark', 'pyarrow', 'pandas', 'numpy', 'pyiceberg', 'deltalake', 'server_ng.spark')\n"
        "sys.exit(', '.join(name for name in heavy if name in sys.modules) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
