"""The life of an engine as calls: opened, started, drained, stopped, joined, closed."""

import os
import select
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import TypeAlias

import pytest

from server_ng import binding
from server_ng._native import ffi, lib
from server_ng.config import Address
from server_ng.engine.records import Record, Started, StartFailed, Stopped, decode, encode_open_doors
from tests.support.engines import open_handle
from tests.support.raw import RawClient
from tests.support.waiting import WAIT_MAX

OpenEngine: TypeAlias = Callable[[], int]

ENGINES_MAX = 16
NO_SUCH_CPU = 1023
_JOIN_MILLIS = 30_000


@pytest.fixture
def open_engine(tmp_path: Path, backend: str) -> Iterator[OpenEngine]:
    """Opens engines that have not started; whatever still runs is taken down."""
    handles: list[int] = []

    def open_one() -> int:
        handles.append(open_handle(tmp_path, backend=backend))
        return handles[-1]

    yield open_one
    for handle in handles:
        try:
            binding.stop(handle)
            binding.join(handle, _JOIN_MILLIS)
            binding.close(handle)
        except binding.ClosedError:
            continue


def next_records(handle: int) -> list[Record]:
    """What the engine says next, once its descriptor says that there is something."""
    notify = binding.notify_fd(handle)
    assert select.select([notify], [], [], WAIT_MAX)[0], "the engine said nothing"
    os.eventfd_read(notify)
    data, _ = binding.drain(handle)
    return list(decode(data))


def wait_for(handle: int, record: Record) -> None:
    """Drains until this record comes."""
    while record not in next_records(handle):
        pass


def run(handle: int) -> tuple[str, int]:
    """Starts an engine; returns where it serves."""
    # An empty drain means "wake me": until then the bell is taken for rung.
    assert binding.drain(handle) == (b"", False)
    binding.start(handle)
    wait_for(handle, Started())
    binding.submit(handle, encode_open_doors())
    host, _, port = binding.describe_engine(handle)["tcp"].rpartition(":")
    return host, int(port)


def test_a_whole_life(open_engine: OpenEngine, backend: str) -> None:
    handle = open_engine()
    address = run(handle)
    assert binding.describe_engine(handle)["backend"] == backend
    with RawClient(address) as client:
        client.ping()
        binding.stop(handle)
        wait_for(handle, Stopped(in_order=True))
        assert client.rest() == b""
    assert binding.join(handle, _JOIN_MILLIS)
    binding.close(handle)
    with pytest.raises(binding.ClosedError):
        binding.close(handle)
    with pytest.raises(ConnectionRefusedError):
        RawClient(address)


def test_a_closed_handle_does_not_find_its_successor(open_engine: OpenEngine) -> None:
    first = open_engine()
    binding.close(first)
    second = open_engine()
    assert second != first
    for call in (binding.close, binding.stop, binding.describe_engine):
        with pytest.raises(binding.ClosedError):
            call(first)
    assert binding.describe_engine(second)["tcp"]


def test_two_engines_live_side_by_side(open_engine: OpenEngine) -> None:
    first, second = open_engine(), open_engine()
    one, other = run(first), run(second)
    with RawClient(one) as client, RawClient(other) as neighbour:
        client.ping()
        neighbour.ping()
        binding.stop(first)
        assert binding.join(first, _JOIN_MILLIS)
        binding.close(first)
        neighbour.ping()


def test_stages_are_kept(open_engine: OpenEngine) -> None:
    handle = open_engine()
    run(handle)
    with pytest.raises(binding.WrongStageError):
        binding.start(handle)
    with pytest.raises(binding.WrongStageError):
        binding.close(handle)
    with pytest.raises(binding.TimedOutError):
        binding.join(handle, 10)


def test_an_engine_that_never_started_is_joined_and_closed(open_engine: OpenEngine) -> None:
    handle = open_engine()
    binding.stop(handle)
    assert binding.join(handle, 0)
    binding.close(handle)


def test_a_stop_before_the_shards_are_up_is_not_lost(open_engine: OpenEngine) -> None:
    handle = open_engine()
    binding.start(handle)
    binding.stop(handle)
    assert binding.join(handle, _JOIN_MILLIS)


def test_a_shard_that_cannot_start_stops_the_others(tmp_path: Path, backend: str) -> None:
    handle = open_handle(tmp_path, backend=backend, shard_cpus=(None, NO_SUCH_CPU, None))
    binding.drain(handle)
    binding.start(handle)
    said: list[Record] = []
    while Stopped(in_order=True) not in said:
        said += next_records(handle)
    (failed,) = (record for record in said if isinstance(record, StartFailed))
    assert (failed.shard, failed.status) == (1, 70)
    assert Started() not in said
    assert binding.join(handle, _JOIN_MILLIS)
    binding.close(handle)


def test_a_buffer_too_small_for_a_record_is_told_its_size(open_engine: OpenEngine) -> None:
    handle = open_engine()
    binding.drain(handle)
    binding.start(handle)
    assert select.select([binding.notify_fd(handle)], [], [], WAIT_MAX)[0]
    needed = ffi.new("uint64_t *")
    small = ffi.new("uint8_t[8]")
    assert lib.engine_drain(handle, small, 8, needed) == 0
    assert needed[0] >= 16
    assert lib.engine_drain(handle, ffi.NULL, 4096, needed) == -lib.STATUS_INVALID
    wait_for(handle, Started())


def test_there_is_an_end_to_engines(open_engine: OpenEngine) -> None:
    for _ in range(ENGINES_MAX):
        open_engine()
    with pytest.raises(binding.BusyError, match="engines are open"):
        open_engine()


def test_a_port_in_use_and_an_address_of_others_are_told_apart(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(binding.AddressInUseError, match=str(port)):
            open_handle(tmp_path, tcp_address=Address(ip_address("127.0.0.1"), port))
    with pytest.raises(binding.ConfigurationError, match=r"192\.0\.2\.1"):
        open_handle(tmp_path, tcp_address=Address(ip_address("192.0.2.1"), 0))


_FORK = """
import os, sys
from pathlib import Path
from server_ng import binding
from tests.support.engines import engine_settings, open_handle

folder = Path(sys.argv[1])
handle = open_handle(folder)
binding.start(handle)
child = os.fork()
if child == 0:
    calls = [binding.start, binding.drain, binding.stop, binding.close, binding.describe_engine]
    wrong = 0
    for call in calls:
        try:
            call(handle)
        except binding.WrongProcessError:
            wrong += 1
    try:
        binding.open_engine(engine_settings(folder).lines())
    except binding.WrongProcessError:
        wrong += 1
    # What is not about an engine works in every process.
    os._exit(0 if wrong == len(calls) + 1 and binding.describe() and binding.probe(folder) else 1)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
binding.stop(handle)
assert binding.join(handle, 30000)
binding.close(handle)
sys.exit(status)
"""


def test_a_forked_child_has_no_engine(tmp_path: Path, root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", _FORK, str(tmp_path)],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
