"""Calls with arguments that no caller should make: a status, never a crash."""

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server_ng import binding
from server_ng._native import ffi, lib
from server_ng.engine.records import LoginVerdict, encode_login_verdict, encode_open_doors
from server_ng.wire.tables import Verdict
from tests.support.engines import engine_settings, open_handle

RING_BYTES = 256 * 1024
ABSURD = 1 << 40


@pytest.fixture
def handle(tmp_path: Path) -> Iterator[int]:
    """An engine that has not started."""
    opened = open_handle(tmp_path)
    yield opened
    binding.close(opened)


class TestPointers:
    """A null pointer is read by nobody."""

    def test_null_records_with_a_length_are_invalid(self, handle: int) -> None:
        assert lib.engine_submit(handle, ffi.NULL, 16, ffi.NULL) == -lib.STATUS_INVALID

    def test_null_records_without_a_length_are_nothing(self, handle: int) -> None:
        assert lib.engine_submit(handle, ffi.NULL, 0, ffi.NULL) == lib.STATUS_OK

    def test_an_absurd_length_is_invalid(self, handle: int) -> None:
        assert lib.engine_submit(handle, ffi.new("uint8_t[16]"), ABSURD, ffi.NULL) == -lib.STATUS_INVALID

    def test_null_settings_or_a_null_handle_are_invalid(self, tmp_path: Path) -> None:
        opened = ffi.new("uint64_t *")
        text = engine_settings(tmp_path).lines().encode()
        assert lib.engine_open(ffi.NULL, 10, opened) == -lib.STATUS_INVALID
        assert lib.engine_open(text, len(text), ffi.NULL) == -lib.STATUS_INVALID
        assert opened[0] == 0

    def test_a_small_buffer_stays_as_it_was_and_is_told_what_it_needs(self) -> None:
        needed = ffi.new("uint64_t *")
        assert lib.describe(ffi.NULL, 0, needed) == -lib.STATUS_NEED
        buffer = ffi.new("uint8_t[]", b"\xa5" * needed[0])
        assert lib.describe(buffer, needed[0] - 1, needed) == -lib.STATUS_NEED
        assert bytes(ffi.buffer(buffer))[:-1] == b"\xa5" * needed[0]
        assert lib.describe(buffer, needed[0], ffi.NULL) == needed[0]

    def test_a_null_buffer_that_is_large_enough_is_invalid(self, handle: int) -> None:
        assert lib.describe(ffi.NULL, 4096, ffi.NULL) == -lib.STATUS_INVALID
        assert lib.engine_metrics(handle, ffi.NULL, 4096, ffi.NULL) == -lib.STATUS_INVALID

    def test_metrics_say_how_many_cells_they_need(self, handle: int) -> None:
        needed = ffi.new("uint64_t *")
        assert lib.engine_metrics(handle, ffi.NULL, 0, needed) == -lib.STATUS_NEED
        cells = ffi.new("uint64_t[]", needed[0])
        assert lib.engine_metrics(handle, cells, needed[0] - 1, needed) == -lib.STATUS_NEED
        assert lib.engine_metrics(handle, cells, needed[0], needed) == needed[0]


class TestSettings:
    """Settings that the two halves of one build do not agree on."""

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("backend=posix", "backend=kqueue"),
            ("connections_max=64", "connections_max=many"),
            ("connections_max=64\n", ""),
            ("connections_max=64", "connections_max=64\nwhat=this"),
            ("connections_max=64", "no assignment"),
        ],
    )
    def test_they_are_named(self, tmp_path: Path, before: str, after: str) -> None:
        text = engine_settings(tmp_path).lines()
        assert before in text
        with pytest.raises(binding.InvalidError, match=r".+"):
            binding.open_engine(text.replace(before, after))

    @given(text=st.binary(max_size=200))
    def test_any_bytes_are_refused(self, text: bytes) -> None:
        opened = ffi.new("uint64_t *")
        assert lib.engine_open(text, len(text), opened) == -lib.STATUS_INVALID


class TestSubmissions:
    """Only whole records of known kinds are taken."""

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(data=st.binary(min_size=1, max_size=300))
    def test_any_bytes_are_refused(self, handle: int, data: bytes) -> None:
        with pytest.raises(binding.InvalidError, match="not records"):
            binding.submit(handle, data)

    @pytest.mark.parametrize(
        "record",
        [
            struct.pack("<IHHQ", 16, 99, 0, 0),
            struct.pack("<IHHQ", 15, 3, 0, 0),
            struct.pack("<IHHQ", 17, 3, 0, 0),
            struct.pack("<IHHQ", 17, 3, 0, 0) + b"x",
            struct.pack("<IHHQBI", 21, 1, 0, 7, 9, 0),
            struct.pack("<IHHQ", 24, 2, 0, 0) + bytes(8),
            struct.pack("<IHHQ", 0, 0, 0, 0),
        ],
    )
    def test_nothing_is_taken_when_one_record_is_wrong(self, handle: int, record: bytes) -> None:
        taken = ffi.new("uint64_t *", 77)
        data = encode_open_doors() + record
        assert lib.engine_submit(handle, data, len(data), taken) == -lib.STATUS_INVALID
        assert taken[0] == 0

    def test_a_full_ring_says_how_much_it_took(self, handle: int) -> None:
        verdicts = [encode_login_verdict(LoginVerdict(token, Verdict.REFUSED)) for token in range(20_000)]
        with pytest.raises(binding.BusyError) as busy:
            binding.submit(handle, b"".join(verdicts))
        size = len(verdicts[0])
        assert busy.value.taken % size == 0
        assert RING_BYTES - size < busy.value.taken <= RING_BYTES
        with pytest.raises(binding.BusyError) as busy:
            binding.submit(handle, verdicts[0])
        assert busy.value.taken == 0


@given(handle=st.integers(0, 2**64 - 1))
def test_a_handle_that_was_never_given_is_closed(handle: int) -> None:
    for call in (
        binding.describe_engine,
        binding.notify_fd,
        binding.start,
        binding.drain,
        binding.stop,
        binding.close,
    ):
        with pytest.raises(binding.ClosedError):
            call(handle)
    with pytest.raises(binding.ClosedError):
        binding.submit(handle, b"")
    with pytest.raises(binding.ClosedError):
        binding.join(handle, 0)
