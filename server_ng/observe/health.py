"""The loopback HTTP listener: ``/metrics``, ``/live`` and ``/ready``."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from typing_extensions import override
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import Server

from server_ng.observe.metrics import MetricsPage

__all__ = ["Health", "ObserveServer", "listen"]

# A scraper, a probe and a person with curl need a handful; each connection may hold 64 KiB of a request.
_CONNECTIONS_MAX = 64
_CONNECTION_SECONDS_MAX = 30.0
_BACKLOG = 64
_STOP_SECONDS_MAX = 2


@dataclass(frozen=True, slots=True)
class Health:
    """An answer to "live?" or "ready?", with what stands in the way."""

    reasons: tuple[str, ...] = ()
    """Plain sentences; none means yes."""
    degraded: tuple[str, ...] = ()
    """What does not work now although the answer is yes: requests are served, not all of them."""
    damage: tuple[Mapping[str, str | int], ...] = ()
    """Ranges of lost messages. They do not stand in the way of the others."""

    @property
    def ok(self) -> bool:
        """Whether nothing stands in the way."""
        return not self.reasons


def listen(host: str, port: int) -> socket.socket:
    """A bound, listening socket; raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


class _BoundedProtocol(H11Protocol):
    """HTTP/1.1 with a bound on connections and on the life of each: a silent peer holds nothing for long."""

    _expiry: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > _CONNECTIONS_MAX:
            transport.abort()
            return
        self._expiry = self.loop.call_later(_CONNECTION_SECONDS_MAX, transport.abort)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
        super().connection_lost(exc)


class _EmbeddedServer(Server):
    """Uvicorn inside a daemon that owns signals, and without the ten wake-ups a second of its own loop."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.serving = asyncio.Event()
        self.stopping = asyncio.Event()

    @contextlib.contextmanager
    @override
    def capture_signals(self) -> Iterator[None]:
        yield

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.serving.set()

    @override
    async def main_loop(self) -> None:
        await self.stopping.wait()


class ObserveServer:
    """Serves metrics and health on a socket that is already bound."""

    def __init__(
        self,
        listener: socket.socket,
        metrics: MetricsPage,
        live: Callable[[], Health],
        ready: Callable[[], Health],
    ) -> None:
        self._listener = listener
        self._metrics = metrics
        self._live = live
        self._ready = ready
        self._server: _EmbeddedServer | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def address(self) -> str:
        """Where it listens, with its real port."""
        host, port = self._listener.getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    @property
    def task(self) -> asyncio.Task[None]:
        """The task that serves; its owner watches that it does not fail."""
        if self._task is None:
            raise RuntimeError("the observe listener was not started")
        return self._task

    async def start(self) -> None:
        """Begins to serve; returns once requests are answered."""
        config = Config(
            self._application(),
            http=_BoundedProtocol,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            backlog=_BACKLOG,
            timeout_graceful_shutdown=_STOP_SECONDS_MAX,
        )
        self._server = _EmbeddedServer(config)
        self._task = asyncio.create_task(self._server.serve([self._listener]), name="observe http")
        serving = asyncio.create_task(self._server.serving.wait(), name="observe http start")
        await asyncio.wait({self._task, serving}, return_when=asyncio.FIRST_COMPLETED)
        serving.cancel()
        if self._task.done():
            self._task.result()
            raise RuntimeError("the observe listener ended before it served")

    async def stop(self) -> None:
        """Answers what is under way and closes the socket."""
        if self._server is None or self._task is None:
            self._listener.close()
            return
        self._server.stopping.set()
        # A failure of the task is its owner's to report; this only waits for its end.
        await asyncio.wait({self._task})

    def _application(self) -> Starlette:
        # Coroutines, although nothing is awaited: plain functions would be run in threads of their own.
        return Starlette(
            routes=[
                Route("/metrics", self._serve_metrics, methods=["GET"]),
                Route("/live", self._serve_live, methods=["GET"]),
                Route("/ready", self._serve_ready, methods=["GET"]),
            ]
        )

    async def _serve_metrics(self, request: Request) -> Response:
        page, content_type = self._metrics.render(request.headers.get("accept", ""))
        return Response(page, media_type=None, headers={"content-type": content_type})

    async def _serve_live(self, _request: Request) -> Response:
        return _answer("live", self._live())

    async def _serve_ready(self, _request: Request) -> Response:
        return _answer("ready", self._ready())


def _answer(question: str, health: Health) -> Response:
    status = HTTPStatus.OK if health.ok else HTTPStatus.SERVICE_UNAVAILABLE
    answer: dict[str, object] = {question: health.ok, "reasons": list(health.reasons)}
    if health.degraded:
        answer["degraded"] = list(health.degraded)
    if health.damage:
        answer["damage"] = [dict(lost) for lost in health.damage]
    return JSONResponse(answer, status_code=status)
