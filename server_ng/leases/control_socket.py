"""The control socket: one JSON object a line, one line for each answer, for jobs on this machine."""

import asyncio
import contextlib
import grp
import json
import os
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import structlog

from server_ng.leases.errors import LeaseRefusedError, Refusal
from server_ng.leases.requests import Request, parse
from server_ng.segments.control import SOCKET_NAME
from server_ng.segments.socket_path import socket_address

__all__ = ["BoundSocket", "ControlSocket", "bind"]

_log = structlog.get_logger()

_LINE_BYTES_MAX: Final = 1 << 20
_CONNECTIONS_MAX: Final = 64
# For requests that run when the server stops.
_DRAIN_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class BoundSocket:
    """A bound socket and its file, whose name the kernel need not know in full."""

    listener: socket.socket
    path: Path

    def close(self) -> None:
        """Removes the file and closes the socket."""
        self.path.unlink(missing_ok=True)
        self.listener.close()


def bind(runtime_path: Path, group: str | None) -> BoundSocket:
    """The bound socket, for this user, and a group if one is named; raises `OSError` or `KeyError`."""
    path = runtime_path / SOCKET_NAME
    group_id = grp.getgrnam(group).gr_gid if group else os.getegid()
    # The data directory is locked: whoever bound it has ended.
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        # It takes its modes before anybody can connect.
        os.fchmod(listener.fileno(), 0o600)
        with socket_address(path) as address:
            listener.bind(address)
        path.chmod(0o660 if group else 0o600)
        # It has the server's group as it is made; a unit may not let it take another.
        if group_id != os.getegid():
            os.chown(path, -1, group_id)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return BoundSocket(listener, path)


class ControlSocket:
    """Serves requests, each connection one after the other."""

    def __init__(self, bound: BoundSocket, serve: Callable[[Request], Awaitable[dict[str, Any]]]) -> None:
        self._bound = bound
        self._serve = serve
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.StreamWriter] = set()
        self._stopping = False
        self._running = 0
        self._none_runs = asyncio.Event()

    @property
    def path(self) -> Path:
        """Where jobs find it."""
        return self._bound.path

    async def start(self) -> None:
        """Begins to accept."""
        self._server = await asyncio.start_unix_server(
            self._connected, sock=self._bound.listener, limit=_LINE_BYTES_MAX
        )

    async def stop(self) -> None:
        """Accepts nobody, lets requests that run have their answer, and ends every connection."""
        self._stopping = True
        if self._server is None:
            self._bound.close()
            return
        self._bound.path.unlink(missing_ok=True)
        self._server.close()
        if self._running:
            self._none_runs.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_DRAIN_SECONDS):
                    await self._none_runs.wait()
        for writer in list(self._connections):
            writer.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        try:
            if len(self._connections) > _CONNECTIONS_MAX:
                refusal = LeaseRefusedError(Refusal.BUSY, f"{_CONNECTIONS_MAX} jobs are connected already.")
                await _write(writer, _refused(refusal))
                return
            while (line := await self._line(reader, writer)) and not self._stopping:
                await self._serve_line(writer, line)
        except (ConnectionError, asyncio.IncompleteReadError):
            # The job has gone; what it has of leases ends by itself.
            return
        except Exception:
            # What one job does to its connection is no fault of the server.
            _log.exception("control_connection_failed")
        finally:
            self._connections.discard(writer)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _serve_line(self, writer: asyncio.StreamWriter, line: bytes) -> None:
        self._running += 1
        try:
            await _write(writer, await self._answer(line))
        finally:
            self._running -= 1
            if not self._running:
                self._none_runs.set()

    async def _line(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        try:
            return await reader.readline()
        except ValueError:
            refusal = LeaseRefusedError(
                Refusal.BAD_REQUEST, f"A line may have {_LINE_BYTES_MAX} bytes; this one has more."
            )
            await _write(writer, _refused(refusal))
            return b""

    async def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            return {"ok": True, **await self._serve(parse(line))}
        except LeaseRefusedError as error:
            _log.info("lease_refused", kind=error.kind.value, reason=str(error))
            return _refused(error)


def _refused(error: LeaseRefusedError) -> dict[str, Any]:
    return {"ok": False, "error": error.kind.value, "message": str(error)}


async def _write(writer: asyncio.StreamWriter, answer: dict[str, Any]) -> None:
    # Of ASCII alone: a text of a job may be none that has bytes.
    writer.write(json.dumps(answer).encode() + b"\n")
    await writer.drain()
