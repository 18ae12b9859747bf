"""The loopback listener: answers, bounds, and an orderly stop."""

import asyncio
import errno
import json
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from server_ng.observe import health
from server_ng.observe.health import Health, ObserveServer, listen
from server_ng.observe.metrics import MetricsPage, Sample

_PAGE = MetricsPage(lambda: [Sample("turns_total", "counter", "Turns.", 1)])


@asynccontextmanager
async def serving(ready: Health | None = None) -> AsyncIterator[int]:
    listener = listen("127.0.0.1", 0)
    server = ObserveServer(listener, _PAGE, Health, lambda: ready or Health())
    port: int = listener.getsockname()[1]
    await server.start()
    try:
        yield port
    finally:
        await server.stop()
        assert server.task.done()


async def ask(port: int, path: str, method: str = "GET") -> tuple[int, str, bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    return int(head.split()[1]), head.decode().lower(), body


async def closed_without_a_word(reader: asyncio.StreamReader) -> bool:
    try:
        return await reader.read() == b""
    except ConnectionResetError:
        return True


async def test_the_three_pages_are_served() -> None:
    async with serving() as port:
        status, head, body = await ask(port, "/metrics")
        assert status == 200
        assert "content-type: text/plain; version=0.0.4" in head
        assert b"server_ng_turns_total 1.0" in body
        assert (await ask(port, "/live"))[::2] == (200, b'{"live":true,"reasons":[]}')
        assert (await ask(port, "/ready"))[::2] == (200, b'{"ready":true,"reasons":[]}')


async def test_not_ready_says_why() -> None:
    async with serving(Health(("The shards are recovering.",))) as port:
        status, _, body = await ask(port, "/ready")
        assert status == 503
        assert json.loads(body) == {"ready": False, "reasons": ["The shards are recovering."]}
        assert (await ask(port, "/live"))[0] == 200


async def test_what_does_not_work_is_told_by_a_server_that_is_ready() -> None:
    async with serving(Health(degraded=("The disk is full.",))) as port:
        status, _, body = await ask(port, "/ready")
        assert status == 200
        assert json.loads(body) == {"ready": True, "reasons": [], "degraded": ["The disk is full."]}


async def test_anything_else_is_refused() -> None:
    async with serving() as port:
        assert (await ask(port, "/"))[0] == 404
        assert (await ask(port, "/metrics", "POST"))[0] == 405
        _, head, _ = await ask(port, "/live")
        assert "uvicorn" not in head


async def test_what_is_not_http_is_answered_and_closed() -> None:
    async with serving() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"\x16\x03\x01\x02\x00 not http\r\n\r\n")
        assert b"400" in (await reader.read()).split(b"\r\n")[0]
        writer.close()
        assert (await ask(port, "/live"))[0] == 200


async def test_a_peer_that_says_nothing_is_closed_when_its_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(health, "_CONNECTION_SECONDS_MAX", 0.0)
    async with serving() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await closed_without_a_word(reader)
        writer.close()


async def test_connections_beyond_the_bound_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_CONNECTIONS_MAX", 2)
    async with serving() as port:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        # The listener serves in order, so that an answer on a held connection proves that both are counted.
        held[1][1].write(b"GET /live HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"200" in await held[1][0].readline()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await closed_without_a_word(reader)
        for _, open_writer in [*held, (reader, writer)]:
            open_writer.close()


async def test_signals_stay_with_the_daemon() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    async with serving():
        assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


async def test_after_the_stop_the_port_is_free() -> None:
    async with serving() as port:
        with pytest.raises(OSError, match="Address already in use"):
            listen("127.0.0.1", port)
    listen("127.0.0.1", port).close()


async def test_stopping_before_the_start_closes_the_socket() -> None:
    listener = listen("127.0.0.1", 0)
    await ObserveServer(listener, _PAGE, Health, Health).stop()
    assert listener.fileno() == -1


async def test_ipv6_is_served_where_there_is_ipv6() -> None:
    try:
        listener = listen("::1", 0)
    except OSError as error:
        if error.errno not in {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}:
            raise
        return
    assert listener.family == socket.AF_INET6
    listener.close()
