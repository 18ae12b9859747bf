"""The control socket beside the requests on it: what a job does to its connection stays its own matter."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import uvloop

from server_ng.leases.adoption import plan
from server_ng.leases.control_socket import ControlSocket, bind
from server_ng.leases.requests import AdoptSegments, Request
from tests.support.lease_files import Message, segment, write_lease

LEASES = b'{"verb": "leases"}\n'
Serve = Callable[[Request], Awaitable[dict[str, Any]]]


@contextmanager
def faults() -> Iterator[list[dict[str, Any]]]:
    """What would end the server: everything that nobody took."""
    found: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: found.append(context))
    yield found


@asynccontextmanager
async def listening(folder: Path, serve: Serve) -> AsyncIterator[ControlSocket]:
    """A socket that is stopped at the end."""
    control = ControlSocket(bind(folder, None), serve)
    await control.start()
    try:
        yield control
    finally:
        await control.stop()


async def _stop_while_a_request_runs(folder: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def serve(_request: Request) -> dict[str, Any]:
        begun.set()
        await may_end.wait()
        return {"leases": []}

    with faults() as found:
        control = ControlSocket(bind(folder, None), serve)
        await control.start()
        reader, writer = await asyncio.open_unix_connection(str(control.path))
        writer.write(LEASES)
        await begun.wait()
        stopped = asyncio.create_task(control.stop())
        await asyncio.wait([stopped], timeout=0)
        may_end.set()
        answer = json.loads(await reader.readline())
        await stopped
        assert await reader.read() == b""
        writer.close()
    return found, answer


def test_a_request_that_runs_when_the_server_stops_is_answered(tmp_path: Path) -> None:
    # The loop that the server runs on: it refuses to write to what is closed.
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        found, answer = runner.run(_stop_while_a_request_runs(tmp_path))
    assert found == []
    assert answer == {"ok": True, "leases": []}


async def test_a_text_without_bytes_is_refused_by_name(tmp_path: Path) -> None:
    lease = write_lease(tmp_path / "one", {0: [segment([[Message(0, b"x")]])]})

    async def serve(request: Request) -> dict[str, Any]:
        assert isinstance(request, AdoptSegments)
        plan(lease, request)
        return {}

    cut = lease.partitions[0].segments[0]
    output = {
        "path": "\ud800",
        "generation": 1,
        "bytes": 4096,
        "first_offset": 7,
        "last_offset": 9,
        "messages": 1,
        "min_timestamp": 1,
        "max_timestamp": 1,
        "digest": "0" * 32,
    }
    request = {
        "verb": "adopt",
        "lease": "one",
        "partition": 0,
        "inputs": [{"first_offset": cut.first_offset, "generation": 0}],
        "outputs": [output],
    }
    with faults() as found:
        async with listening(tmp_path, serve) as control:
            reader, writer = await asyncio.open_unix_connection(str(control.path))
            writer.write(json.dumps(request).encode() + b"\n")
            answer = json.loads(await reader.readline())
            assert (answer["ok"], answer["error"]) == (False, "bad_output")
            assert answer["message"].startswith(r"'\ud800'")
            writer.close()
    assert found == []


async def test_a_defect_behind_one_request_ends_that_connection_alone(tmp_path: Path) -> None:
    async def serve(_request: Request) -> dict[str, Any]:
        raise RuntimeError("planted")

    with faults() as found:
        async with listening(tmp_path, serve) as control:
            for _ in range(2):
                reader, writer = await asyncio.open_unix_connection(str(control.path))
                writer.write(LEASES)
                assert await reader.read() == b""
                writer.close()
    assert found == []
