"""Records: bytes to values and back, and bytes that are no records."""

import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server_ng.engine import records
from server_ng.engine.errors import MalformedRecordError
from server_ng.engine.records import (
    Adopted,
    Applied,
    Apply,
    CaughtUp,
    Cut,
    Enrich,
    Login,
    NativeEvent,
    Observed,
    Progress,
    Reconciled,
    Record,
    Rows,
    Session,
    Started,
    StartFailed,
    Stopped,
    decode,
)
from server_ng.wire.cuts import CutSegment
from server_ng.wire.reconcile import HeldGroup, ReconcileAnswer, ReconcileOp
from server_ng.wire.tables import (
    AdoptionEnd,
    CutEnd,
    EvictionReason,
    HeldState,
    Operation,
    ReconcileKind,
    ReconcileOutcome,
    ReplyKind,
    SessionChange,
    ToPython,
    Verdict,
)

RING_BYTES = 256 * 1024
U8, U16, U32, U64 = (st.integers(0, 2**bits - 1) for bits in (8, 16, 32, 64))
TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
BODY = st.binary(max_size=100)
ANSWERS = st.lists(
    st.builds(ReconcileAnswer, st.sampled_from(ReconcileKind), U64, st.sampled_from(ReconcileOutcome)),
    max_size=5,
)
OFFSET = st.integers(0, 2**64 - 2)
SEGMENTS = st.lists(
    st.builds(CutSegment, U64, U64, U64, U64, U64, U32, U32, st.integers(0, 2**128 - 1)), max_size=3
)
HELD = st.lists(st.builds(HeldGroup, U64, st.sampled_from(HeldState)), max_size=5)

ANY_RECORD: st.SearchStrategy[Record] = st.one_of(
    st.builds(Login, U64, TEXT, BODY, TEXT),
    st.builds(Enrich, U64, U8, U32, BODY),
    st.builds(Started),
    st.builds(StartFailed, st.none() | st.integers(0, 0xFFFE), U8, TEXT),
    st.builds(Progress, TEXT),
    st.builds(Stopped, st.booleans()),
    st.builds(NativeEvent, U16, U16, U64, U64, U64),
    st.builds(Rows, U64, st.booleans(), BODY),
    st.builds(Apply, U64, U64, st.integers(0, 2**128 - 1), U8, U32, BODY),
    st.builds(CaughtUp, U64),
    st.builds(Reconciled, U16, U64, ANSWERS.map(tuple)),
    st.builds(Observed, U16, st.booleans(), HELD.map(tuple)),
    st.builds(Cut, U64, st.booleans(), st.just(CutEnd.DONE), U64, st.none() | OFFSET, SEGMENTS.map(tuple)),
    st.builds(Cut, U64, st.booleans(), st.sampled_from((CutEnd.BUSY, CutEnd.NO_GROUP))),
    st.builds(Cut, U64, st.booleans(), st.just(CutEnd.FAILED), why=TEXT),
    st.builds(Adopted, U64, st.sampled_from(AdoptionEnd), TEXT),
    st.builds(
        Session,
        U64,
        st.sampled_from((SessionChange.OPENED, SessionChange.ENDED)),
        st.none(),
        U64,
        st.integers(0, 2**128 - 1),
        U32,
        TEXT,
    ),
    st.builds(
        Session,
        U64,
        st.just(SessionChange.EVICTED),
        st.sampled_from(EvictionReason),
        U64,
        st.integers(0, 2**128 - 1),
        U32,
        TEXT,
    ),
)


def text(value: str | bytes) -> bytes:
    """A string as records hold it."""
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<I", len(data)) + data


def frame(kind: int, body: bytes = b"", shard: int = 0, token: int = 0) -> bytes:
    """A record of a kind."""
    return struct.pack("<IHHQ", 16 + len(body), kind, shard, token) + body


def encode(record: Record) -> bytes:
    """A record as the engine writes it."""
    match record:
        case Login(token, username, password, address):
            return frame(1, text(username) + text(password) + text(address), token=token)
        case Started():
            return frame(2)
        case StartFailed(shard, status, reason):
            return frame(3, bytes([status]) + text(reason), 0xFFFF if shard is None else shard)
        case Stopped(in_order):
            return frame(4, bytes([in_order]))
        case NativeEvent(shard, code, first, second, time_micros):
            return frame(5, struct.pack("<HQQQ", code, first, second, time_micros), shard)
        case Progress(phrase):
            return frame(6, text(phrase), 0xFFFF)
        case Rows(op, last, deltas):
            return frame(7, bytes([last]) + deltas, token=op)
        case Apply(op, timestamp, client, operation, user_id, body):
            head = struct.pack("<Q", timestamp) + client.to_bytes(16, "little")
            return frame(8, head + struct.pack("<BI", operation, user_id) + body, token=op)
        case CaughtUp(op):
            return frame(9, token=op)
        case Reconciled(shard, pass_number, answers):
            return frame(10, b"".join(struct.pack("<BQB", *answer) for answer in answers), shard, pass_number)
        case Observed(shard, last, groups):
            return frame(11, bytes([last]) + b"".join(struct.pack("<QB", *held) for held in groups), shard)
        case Cut(token, last, end):
            return frame(12, bytes([last, end]) + cut_body(record), token=token)
        case Adopted(token, adopted, why):
            return frame(13, bytes([adopted]) + text(why), token=token)
        case Enrich(token, operation, user_id, body):
            return frame(14, struct.pack("<BI", operation, user_id) + body, token=token)
        case Session(token, change, reason, number, client, user_id, address):
            head = struct.pack("<BBQ", change, 0 if reason is None else reason, number)
            who = client.to_bytes(16, "little") + struct.pack("<I", user_id)
            return frame(15, head + who + text(address), token=token)


def cut_body(cut: Cut) -> bytes:
    """What stands behind the end of a cut."""
    match cut.end:
        case CutEnd.DONE:
            commit = 2**64 - 1 if cut.commit_offset is None else cut.commit_offset
            segments = (
                struct.pack("<QQQQQII", *astuple(segment)[:7]) + segment.footer.to_bytes(16, "little")
                for segment in cut.segments
            )
            return struct.pack("<QQ", cut.purge_generation, commit) + b"".join(segments)
        case CutEnd.FAILED:
            return text(cut.why)
        case _:
            return b""


@given(sent=st.lists(ANY_RECORD, max_size=8))
def test_what_the_engine_writes_is_read(sent: list[Record]) -> None:
    assert list(decode(b"".join(map(encode, sent)))) == sent


def test_every_kind_of_the_table_has_a_decoder() -> None:
    for kind in ToPython:
        # A body that does not fit is refused as one of a known kind.
        with suppress(MalformedRecordError):
            assert len(list(decode(frame(kind)))) == 1


@given(data=st.binary(max_size=200))
def test_any_bytes_are_records_or_malformed(data: bytes) -> None:
    try:
        read = list(decode(data))
    except MalformedRecordError:
        return
    assert len(read) <= len(data) // 16


@given(record=ANY_RECORD, data=st.data())
def test_a_record_that_is_cut_is_malformed(record: Record, data: st.DataObject) -> None:
    whole = encode(record)
    cut = whole[: data.draw(st.integers(1, len(whole) - 1))]
    with pytest.raises(MalformedRecordError):
        list(decode(cut))


@pytest.mark.parametrize(
    "data",
    [
        frame(0),
        frame(6),
        frame(1),
        frame(1, text("iggy") + text("secret") + struct.pack("<I", 2**32 - 1)),
        frame(1, text(b"\xff") + text("secret") + text("")),
        frame(3),
        frame(4),
        frame(5, bytes(25)),
        frame(5, bytes(27)),
        frame(7),
        frame(7, b"\x02"),
        frame(8, bytes(28)),
        frame(9, bytes(1)),
        frame(10, bytes(9)),
        frame(10, struct.pack("<BQB", 0, 1, 0)),
        frame(10, struct.pack("<BQB", 6, 1, 0)),
        frame(10, struct.pack("<BQB", 1, 1, 5)),
        frame(11),
        frame(11, b"\x02"),
        frame(11, b"\x01" + bytes(8)),
        frame(11, b"\x01" + struct.pack("<QB", 1, 3)),
        frame(12),
        struct.pack("<IHHQ", 0, 2, 0, 0),
        struct.pack("<IHHQ", 15, 2, 0, 0),
    ],
)
def test_what_the_two_halves_disagree_on_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedRecordError):
        list(decode(data))


def test_a_password_is_not_shown() -> None:
    assert "secret" not in repr(Login(1, "iggy", b"secret", "127.0.0.1:5"))
    assert "secret" not in repr(Apply(1, 2, 3, 4, 5, b"secret"))
    assert "secret" not in repr(Enrich(1, 2, 3, b"secret"))


@given(token=U64, verdict=st.sampled_from(Verdict), user_id=U32)
def test_a_verdict_has_its_layout(token: int, verdict: Verdict, user_id: int) -> None:
    encoded = records.encode_login_verdict(records.LoginVerdict(token, verdict, user_id))
    assert encoded == frame(1, struct.pack("<BI", verdict, user_id), token=token)


def test_open_doors_has_its_layout() -> None:
    assert records.encode_open_doors() == frame(3)


def split(data: bytes) -> list[tuple[int, int, int, bytes]]:
    """Kind, shard, token and body of each record."""
    records_found = []
    while data:
        length, kind, shard, token = struct.unpack_from("<IHHQ", data)
        records_found.append((kind, shard, token, data[16:length]))
        data = data[length:]
    return records_found


@given(op=U64, result=U32, reply=st.sampled_from(ReplyKind), stream=U32, topic=U32, revision=U64, deltas=BODY)
def test_an_applied_operation_has_its_layout(
    op: int, result: int, reply: ReplyKind, stream: int, topic: int, revision: int, deltas: bytes
) -> None:
    encoded = records.encode_applied(Applied(op, result, reply, stream, topic, revision, deltas))
    head = struct.pack("<IBIIQ", result, reply, stream, topic, revision)
    assert encoded == frame(4, head + deltas, token=op)


@pytest.mark.parametrize("size", [128 * 1024, 128 * 1024 + 1, 1_000_000])
def test_deltas_that_no_ring_holds_go_in_parts(size: int) -> None:
    deltas = bytes(range(250)) * (size // 250 + 1)
    deltas = deltas[:size]
    *parts, last = split(records.encode_applied(Applied(9, 0, ReplyKind.TOPIC, 3, 4, 5, deltas)))
    assert all((kind, shard, token) == (7, 0, 9) for kind, shard, token, _ in parts)
    assert last[:3] == (4, 0, 9)
    assert all(16 + len(body) < RING_BYTES for *_, body in [*parts, last])
    assert b"".join([*(body for *_, body in parts), last[3][21:]]) == deltas


@pytest.mark.parametrize("count", [1, 3_612, 3_613, 10_000])
def test_a_pass_goes_in_records_of_a_bounded_size(count: int) -> None:
    ops = [ReconcileOp(ReconcileKind.PURGE, group, group + 1) for group in range(count)]
    sent = split(records.encode_reconcile(3, 7, ops))
    assert all((kind, shard, token) == (5, 3, 7) for kind, shard, token, _ in sent)
    assert all(16 + len(body) <= 60 * 1024 for *_, body in sent)
    assert list(struct.iter_unpack("<BQQ", b"".join(body for *_, body in sent))) == ops


def test_converged_has_its_layout() -> None:
    assert records.encode_converged(2**63) == frame(6, token=2**63)


@given(token=U64, code=U32, body=BODY)
def test_an_enriched_command_has_its_layout(token: int, code: int, body: bytes) -> None:
    encoded = records.encode_enriched(token, code, body)
    assert encoded == frame(11, struct.pack("<I", code) + body, token=token)


def test_a_proposal_has_its_layout() -> None:
    assert records.encode_proposal(Operation.CREATE_ROOT, b"body") == frame(10, b"\x45body")


FIGURES: Callable[..., st.SearchStrategy[records.HostFigures]] = st.builds


@given(
    figures=FIGURES(
        records.HostFigures,
        cpu_usage=st.floats(0, 100, width=32),
        total_cpu_usage=st.floats(0, 100, width=32),
        memory_usage=U64,
        total_memory=U64,
        available_memory=U64,
        read_bytes=U64,
        written_bytes=U64,
        threads_count=U32,
        free_disk_space=U64,
        total_disk_space=U64,
        hostname=TEXT,
        os_name=TEXT,
        os_version=TEXT,
        kernel_version=TEXT,
    )
)
def test_figures_have_their_layout(figures: records.HostFigures) -> None:
    numbers = struct.pack(
        "<ffQQQQQIQQ",
        figures.cpu_usage,
        figures.total_cpu_usage,
        figures.memory_usage,
        figures.total_memory,
        figures.available_memory,
        figures.read_bytes,
        figures.written_bytes,
        figures.threads_count,
        figures.free_disk_space,
        figures.total_disk_space,
    )
    texts = (figures.hostname, figures.os_name, figures.os_version, figures.kernel_version)
    assert records.encode_host_figures(figures) == frame(2, numbers + b"".join(map(text, texts)))
