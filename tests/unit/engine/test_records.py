"""Records: bytes to values and back, and bytes that are no records."""

import struct
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server_ng.engine import records
from server_ng.engine.errors import MalformedRecordError
from server_ng.engine.records import (
    Login,
    NativeEvent,
    Progress,
    Record,
    Started,
    StartFailed,
    Stopped,
    decode,
)

U8, U16, U32, U64 = (st.integers(0, 2**bits - 1) for bits in (8, 16, 32, 64))
TEXT = st.text(st.characters(codec="utf-8"), max_size=40)

ANY_RECORD: st.SearchStrategy[Record] = st.one_of(
    st.builds(Login, U64, TEXT, st.binary(max_size=100), TEXT),
    st.builds(Started),
    st.builds(StartFailed, st.none() | st.integers(0, 0xFFFE), U8, TEXT),
    st.builds(Progress, TEXT),
    st.builds(Stopped, st.booleans()),
    st.builds(NativeEvent, U16, U16, U64, U64, U64),
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


@given(sent=st.lists(ANY_RECORD, max_size=8))
def test_what_the_engine_writes_is_read(sent: list[Record]) -> None:
    assert list(decode(b"".join(map(encode, sent)))) == sent


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
        struct.pack("<IHHQ", 0, 2, 0, 0),
        struct.pack("<IHHQ", 15, 2, 0, 0),
    ],
)
def test_what_the_two_halves_disagree_on_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedRecordError):
        list(decode(data))


def test_a_password_is_not_shown() -> None:
    assert "secret" not in repr(Login(1, "iggy", b"secret", "127.0.0.1:5"))


@given(token=U64, verdict=st.sampled_from(records.Verdict), user_id=U32)
def test_a_verdict_has_its_layout(token: int, verdict: records.Verdict, user_id: int) -> None:
    encoded = records.encode_login_verdict(records.LoginVerdict(token, verdict, user_id))
    assert encoded == frame(1, struct.pack("<BI", verdict, user_id), token=token)


def test_open_doors_has_its_layout() -> None:
    assert records.encode_open_doors() == frame(3)


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
