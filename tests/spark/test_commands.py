"""`server-ng spark`, as an operator calls it."""

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from server_ng.segments.damage import SegmentDeniedError, SegmentReadError
from server_ng.segments.lease import Lease, LeaseDeniedError
from server_ng.spark.command import main
from server_ng.spark.cutter import CutRefusedError
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


def rotten(folder: Path) -> Path:
    """A lease with a byte that is another one."""
    lease = write_lease(folder, {0: [sealed(0, 20)]})
    path = folder / lease.partitions[0].segments[0].path
    content = bytearray(path.read_bytes())
    content[260] ^= 1
    path.write_bytes(content)
    return folder


@pytest.mark.parametrize(
    "job",
    [
        ["sql", "select max(offset) from topic"],
        ["export", "--to", "parquet", "--target", "TARGET", "--master", "local[1]"],
        ["compact", "--engine", "shuffle", "--master", "local[1]", "--dry-run"],
    ],
)
def test_what_a_task_of_spark_met_is_the_end_of_the_job(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], job: list[str]
) -> None:
    words = [str(tmp_path / "table") if word == "TARGET" else word for word in job]
    assert main([words[0], "--lease", str(rotten(tmp_path / "lease")), *words[1:]]) == 6
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith(f"server-ng spark: {tmp_path}")
    assert "is damaged at byte 0" in said


@pytest.mark.parametrize(
    ("query", "status"),
    [("selec 1", 78), ("select nothing from topic", 78), ("select 1 / (partition - 0) from topic", 78)],
)
def test_a_query_that_is_wrong(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], query: str, status: int
) -> None:
    write_lease(tmp_path, {0: [sealed(0, 20)]})
    assert main(["sql", "--lease", str(tmp_path), query]) == status
    assert "server-ng spark: [" in capsys.readouterr().err


def sql(lease: Path, *words: str) -> tuple[int, str]:
    """Status and standard error of a query in a process and a Java of its own."""
    command = [sys.executable, "-m", "server_ng", "spark", "sql", "--lease", str(lease), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == ""
    return done.returncode, done.stderr


@pytest.mark.timeout(300)
def test_the_error_of_a_query_is_one_sentence(tmp_path: Path) -> None:
    write_lease(tmp_path, {0: [sealed(0, 20)]})
    status, said = sql(tmp_path, "--master", "local[1]", "select * from events")
    assert status == 78
    (sentence,) = said.splitlines()
    assert sentence.startswith("server-ng spark: [TABLE_OR_VIEW_NOT_FOUND]")
    assert sentence.endswith("The topic is the table `topic`.")


@pytest.mark.timeout(300)
def test_the_output_of_a_java_that_did_not_start_is_shown(tmp_path: Path) -> None:
    write_lease(tmp_path, {0: [sealed(0, 20)]})
    status, said = sql(tmp_path, "--master", "nonsense", "select 1")
    assert status == 78
    assert "Master must either be" in said
    assert said.splitlines()[-1].startswith("server-ng spark: [JAVA_GATEWAY_EXITED]")


def test_a_query_without_rows_prints_none(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_lease(tmp_path, {0: [sealed(0, 20)]})
    assert main(["sql", "--lease", str(tmp_path), "--json", "select 1 from topic where offset > 99"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (CutRefusedError("failed", "No space left on device."), 75),
        (CutRefusedError("budget", "There are 64 leases."), 75),
        (CutRefusedError("unreachable", "no server listens"), 75),
        (CutRefusedError("permission", "not by this user"), 78),
        (CutRefusedError("unknown_topic", "There is none."), 78),
        (LeaseDeniedError("manifest.json may not be read"), 78),
        (SegmentDeniedError(Path("a.log"), "this user may not read it"), 78),
        (SegmentReadError(Path("a.log"), "it cannot be opened"), 5),
        (PermissionError(errno.EACCES, "Permission denied", "lake"), 78),
        (OSError(errno.EROFS, "Read-only file system", "lake"), 78),
        (OSError(errno.ENOSPC, "No space left on device", "lake"), 75),
    ],
)
def test_each_failure_has_its_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    write_lease(tmp_path, {0: [sealed(0, 20)]})

    def read(_directory: Path) -> Lease:
        raise error

    monkeypatch.setattr(Lease, "read", read)
    assert main(["plan", "--lease", str(tmp_path)]) == status


def test_a_target_that_cannot_be_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_lease(tmp_path / "lease", {0: [sealed(0, 20)]})
    (tmp_path / "file").write_text("")
    for kind in ("parquet", "delta"):
        target = str(tmp_path / "file" / "table")
        assert main(["export", "--lease", str(tmp_path / "lease"), "--to", kind, "--target", target]) == 78
        assert "Not a directory" in capsys.readouterr().err


@pytest.mark.parametrize(("package", "extra"), [("deltalake", "delta"), ("pyarrow", "spark")])
def test_a_library_that_is_missing_is_told_by_its_extra(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    package: str,
    extra: str,
) -> None:
    def read(_directory: Path) -> Lease:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)

    monkeypatch.setattr(Lease, "read", read)
    assert main(["plan", "--lease", str(tmp_path)]) == 78
    assert f"install server-ng with the extra {extra}" in capsys.readouterr().err


def test_what_cannot_be_done_is_said_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "--lease", str(tmp_path)]) == 5
    assert "not a lease" in capsys.readouterr().err
    assert main(["verify"]) == 78
    assert "give --lease" in capsys.readouterr().err
    assert main(["verify", "--control", str(tmp_path), "--topic", "events"]) == 78
    assert """--topic: 'events' is not "stream/topic\"""" in capsys.readouterr().err
    assert main(["no-such-job"]) == 78
    assert main(["--help"]) == 0
    capsys.readouterr()
    assert main([]) == 0
    assert "usage: server-ng spark" in capsys.readouterr().out


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
