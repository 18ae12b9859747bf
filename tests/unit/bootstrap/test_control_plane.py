"""The control plane between records: what it answers, in which order, and what it makes of a bug."""

import asyncio
import struct

import pytest
import structlog

from server_ng.bootstrap.auditing import Audit
from server_ng.bootstrap.control_plane import ControlPlane
from server_ng.bootstrap.errors import StartError
from server_ng.engine.errors import MalformedRecordError
from server_ng.engine.records import Apply, CaughtUp, Observed, Reconciled, Rows
from server_ng.metadata.deltas import decode_deltas, encode_deltas
from server_ng.metadata.rows import PartitionRow
from server_ng.metadata.state import State, fold
from server_ng.wire.reconcile import ReconcileAnswer
from server_ng.wire.requests import CreateStream, CreateTopic, DeleteTopic
from server_ng.wire.tables import ErrorCode, ExitStatus, FromPython, ReconcileKind, ReconcileOutcome
from tests.support.metadata_log import MetadataLog, Request

SHARDS = 2


class Bench:
    """A control plane whose records the test reads and answers as the engine would."""

    def __init__(self) -> None:
        self.sent = b""
        self.log = MetadataLog()
        audit = Audit(None, lambda: "")
        self.control_plane = ControlPlane(SHARDS, self.send, asyncio.get_running_loop(), audit)

    def send(self, record: bytes) -> None:
        self.sent += record

    def apply(self, request: Request) -> None:
        op = self.log.op(request)
        self.log.do(request)
        self.control_plane.take(Apply(op.number, op.timestamp, op.client, op.operation, op.user_id, op.body))

    def start(self) -> None:
        self.control_plane.take(CaughtUp(len(self.log.ops)))
        for shard in range(SHARDS):
            self.control_plane.take(Observed(shard, True, ()))

    async def take_sent(self) -> list[tuple[int, int, int, bytes]]:
        """Kind, shard, token and body of what was sent, after a turn of the loop."""
        for _ in range(3):
            await asyncio.sleep(0)
        data, self.sent = self.sent, b""
        taken = []
        while data:
            length, kind, shard, token = struct.unpack_from("<IHHQ", data)
            taken.append((kind, shard, token, data[16:length]))
            data = data[length:]
        return taken

    async def carry_out(self) -> list[tuple[int, int]]:
        """Does what shards are asked until nothing more is; kind and token of everything sent."""
        seen = []
        done = ReconcileOutcome.DONE
        while sent := await self.take_sent():
            for kind, shard, token, body in sent:
                seen.append((kind, token))
                if kind == FromPython.RECONCILE:
                    ops = struct.iter_unpack("<BQQ", body)
                    answers = [ReconcileAnswer(ReconcileKind(op), group, done) for op, group, _ in ops]
                    self.control_plane.take(Reconciled(shard, token, tuple(answers)))
        return seen

    def figures(self) -> dict[str, float]:
        """The figures without labels."""
        return {sample.name: sample.value for sample in self.control_plane.samples() if not sample.labels}


@pytest.fixture
async def bench() -> Bench:
    return Bench()


async def test_an_operation_is_answered_before_its_partitions_are_built(bench: Bench) -> None:
    bench.start()
    bench.apply(CreateStream("s"))
    bench.apply(CreateTopic("s", 2, "t"))
    (stream, topic, *reconcile) = await bench.take_sent()
    assert stream[:3] == (FromPython.APPLIED, 0, 1)
    assert struct.unpack_from("<IBIIQ", stream[3]) == (0, 1, 0, 0, 0)
    assert topic[:3] == (FromPython.APPLIED, 0, 2)
    assert struct.unpack_from("<IBIIQ", topic[3]) == (0, 2, 0, 0, 1)
    assert {kind for kind, *_ in reconcile} == {FromPython.RECONCILE}


async def test_the_deltas_of_the_answer_make_the_same_state(bench: Bench) -> None:
    for request in (
        CreateStream("s"),
        CreateTopic("s", 3, "t"),
        DeleteTopic("s", "t"),
        CreateTopic("s", 1, "u"),
    ):
        bench.apply(request)
    folded = State()
    for _, _, _, body in await bench.take_sent():
        fold(folded, decode_deltas(body[21:]))
    assert list(folded.rows()) == list(bench.log.machine.state.rows())


async def test_an_error_is_an_answer(bench: Bench) -> None:
    bench.apply(DeleteTopic("s", "t"))
    ((kind, _, token, body),) = await bench.take_sent()
    assert (kind, token) == (FromPython.APPLIED, 1)
    assert struct.unpack("<IBIIQ", body) == (ErrorCode.STREAM_ID_NOT_FOUND, 0, 0, 0, 0)


async def test_a_bug_is_an_answer_and_a_line_and_a_count(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(*_: object) -> None:
        raise KeyError("planted")

    monkeypatch.setattr("server_ng.metadata.apply.apply", fault)
    with structlog.testing.capture_logs() as logs:
        bench.control_plane.take(Apply(1, 1_000, 1, 202, 0, b"a secret"))
    ((_, _, _, body),) = await bench.take_sent()
    assert struct.unpack("<IBIIQ", body) == (ErrorCode.ERROR, 0, 0, 0, 0)
    (line,) = logs
    assert (line["event"], line["op"], line["operation"]) == ("apply_failed", 1, 202)
    assert "secret" not in repr(line)
    assert bench.figures()["apply_faults_total"] == 1


async def test_a_bug_in_the_writing_is_an_answer_and_changes_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.start()
    bench.apply(CreateStream("s"))
    await bench.carry_out()

    def fault(_value: bytes) -> PartitionRow:
        raise KeyError("planted")

    with monkeypatch.context() as patched:
        patched.setattr(PartitionRow, "decode", fault)
        bench.apply(CreateTopic("s", 2, "t"))
    ((kind, _, token, body),) = await bench.take_sent()
    assert (kind, token) == (FromPython.APPLIED, 2)
    assert struct.unpack("<IBIIQ", body) == (ErrorCode.ERROR, 0, 0, 0, 0)
    assert bench.figures()["apply_faults_total"] == 1
    assert bench.figures()["partitions_desired"] == 0
    bench.apply(CreateTopic("s", 2, "t"))
    assert (FromPython.CONVERGED, 1) in await bench.carry_out()


async def test_it_is_converged_when_rows_and_journal_are_carried_out(bench: Bench) -> None:
    bench.log.do(CreateStream("s"))
    bench.log.do(CreateTopic("s", 2, "t"))
    rows = list(bench.log.machine.state.rows())
    bench.control_plane.take(Rows(2, False, encode_deltas(rows[:3])))
    bench.control_plane.take(Rows(2, True, encode_deltas(rows[3:])))
    bench.apply(CreateTopic("s", 1, "u"))
    assert [kind for kind, _ in await bench.carry_out()] == [FromPython.APPLIED]
    bench.start()
    assert not bench.control_plane.converged.done()
    assert (await bench.carry_out())[-1] == (FromPython.CONVERGED, 2)
    assert bench.control_plane.converged.done()
    figures = bench.figures()
    assert figures["partitions_desired"] == figures["partitions_owned"] == figures["partitions_routed"] == 3
    assert figures["partitions_unsettled"] == figures["reconcile_lag_seconds"] == 0


async def test_rows_that_replace_a_state_are_followed(bench: Bench) -> None:
    bench.apply(CreateStream("s"))
    bench.apply(CreateTopic("s", 2, "t"))
    bench.start()
    await bench.carry_out()
    log = MetadataLog()
    log.do(CreateStream("s"))
    log.do(CreateTopic("s", 2, "t"))
    log.do(CreateTopic("s", 1, "u"))
    bench.control_plane.take(Rows(3, True, encode_deltas(log.machine.state.rows())))
    assert (FromPython.CONVERGED, 2) in await bench.carry_out()
    assert bench.figures()["partitions_routed"] == 3


async def test_each_state_of_a_removal_and_each_cause_has_a_figure(bench: Bench) -> None:
    labels = [tuple(sample.labels.items()) for sample in bench.control_plane.samples() if sample.labels]
    assert [value for ((name, value),) in labels if name == "state"] == ["to_start", "removing", "removed"]
    assert sorted({value for ((name, value),) in labels if name == "cause"}) == ["build", "purge", "remove"]


@pytest.mark.parametrize("record", [Observed(SHARDS, True, ()), Reconciled(SHARDS, 1, ())])
async def test_a_shard_that_does_not_exist_is_malformed(bench: Bench, record: Observed | Reconciled) -> None:
    with pytest.raises(MalformedRecordError):
        bench.control_plane.take(record)


async def test_rows_that_cannot_be_read_are_damage_and_nothing_is_answered_after_them(bench: Bench) -> None:
    with pytest.raises(StartError, match=r"operation 9 .* restore the data directory") as refused:
        bench.control_plane.take(Rows(9, True, b"\x07"))
    assert refused.value.status == ExitStatus.DAMAGED_DATA
    bench.apply(CreateStream("s"))
    bench.start()
    assert await bench.take_sent() == []
