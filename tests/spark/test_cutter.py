"""A job and the server that its lease is of: what the one survives of the other."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from server_ng.spark.cutter import CutRefusedError, Cutter, held, renewing
from server_ng.spark.errors import FencedError
from server_ng.spark.options import Options
from server_ng.spark.schema import declared
from server_ng.spark.source import TopicReader
from tests.spark.cutting_server import CuttingServer
from tests.spark.topics import sealed

UNREACHABLE = CutRefusedError("unreachable", "no server listens")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CuttingServer]:
    """A topic with a few messages."""
    with CuttingServer(tmp_path / "server") as running:
        running.holds({0: [sealed(0, 3)]})
        yield running


def test_a_lease_is_renewed_over_the_restart_of_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [None, UNREACHABLE, CutRefusedError("no_answer", "b''"), None]
    all_given = threading.Event()

    def renew(_cutter: Cutter, lease: str, seconds: int) -> None:
        assert (lease, seconds) == ("one", 0)
        answer = answers.pop(0) if answers else None
        if not answers:
            all_given.set()
        if answer is not None:
            raise answer

    monkeypatch.setattr(Cutter, "renew", renew)
    with renewing(Cutter(Path("nowhere")), "one", 0):
        assert all_given.wait(30)


def test_a_job_that_is_done_stays_done_without_its_server(server: CuttingServer) -> None:
    with held(server.control, "orders", "events"):
        server.refusal = ("stopping", "The server is stopping.")


def test_what_ended_a_job_is_told_without_its_server(server: CuttingServer) -> None:
    def job() -> None:
        with held(server.control, "orders", "events"):
            server.refusal = ("stopping", "The server is stopping.")
            raise FencedError("another job was first")

    with pytest.raises(FencedError):
        job()


@pytest.mark.parametrize(
    ("said", "kind"), [(b"", "unreachable"), (b'{"ok": tr', "unreachable"), (b"?\n", "no_answer")]
)
def test_half_an_answer_is_none(server: CuttingServer, said: bytes, kind: str) -> None:
    server.verbatim = said
    with pytest.raises(CutRefusedError) as refused:
        Cutter(server.control).leases()
    assert refused.value.kind == kind
    assert refused.value.may_be_repeated == (kind == "unreachable")


@pytest.mark.parametrize(("left", "renewed"), [(30, [("cut-1", 60)]), (59, [])])
def test_tasks_keep_the_lease_that_they_read(
    server: CuttingServer, left: int, renewed: list[tuple[str, int]]
) -> None:
    options = Options.parse(
        {"control": str(server.control), "subscribe": "orders/events", "leaseSeconds": "60"}
    )
    reader = TopicReader(options, declared(options))
    (task,) = reader.partitions()
    (server.leases / "cut-1" / "expires").write_text(str(int((time.time() + left) * 1e6)))
    assert sum(batch.num_rows for batch in reader.read(task)) == 3
    assert server.renewed == renewed
    assert server.held() == ["cut-1"]
