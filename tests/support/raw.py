"""A client that sends what it is told to, well-formed or not, and shows every frame that comes back."""

import itertools
import select
import socket
import struct
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from tests.support.frames import (
    CLIENT,
    COMMAND,
    HEADER_BYTES,
    LOGOUT,
    REGISTER,
    Eviction,
    Frame,
    Reply,
    Request,
    body_bytes,
    decode,
    password_body,
)
from tests.support.waiting import WAIT_MAX

__all__ = ["PASSWORD", "USERNAME", "RawClient", "Registered", "registered"]

USERNAME = "iggy"
PASSWORD = "iggy-secret"

_client_numbers = itertools.count(CLIENT)


@dataclass(frozen=True, slots=True)
class Registered:
    """What a login brings."""

    user_id: int
    session: int
    protocol_version: int
    server_version: str


class RawClient:
    """One connection. Calls wait for an answer, and fail when none comes for very long."""

    def __init__(self, address: tuple[str, int], receive_buffer: int | None = None, source: str = "") -> None:
        self.client = next(_client_numbers)
        self.session = 0
        self.request = 1
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if receive_buffer is not None:
            # Before connecting: the window is agreed on then.
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._socket.settimeout(WAIT_MAX)
        try:
            if source:
                self._socket.bind((source, 0))
            self._socket.connect(address)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def local_address(self) -> str:
        """The address the server sees this connection come from."""
        host, port = self._socket.getsockname()
        return f"{host}:{port}"

    def close(self) -> None:
        """Ends the connection."""
        self._socket.close()

    def finish_sending(self) -> None:
        """Ends the client's half of the stream."""
        self._socket.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """Ends the connection with a reset instead of an orderly close."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    def send(self, data: bytes) -> None:
        """Sends bytes as they are."""
        self._socket.sendall(data)

    def try_send(self, data: bytes) -> int:
        """Sends what the kernel takes without waiting; returns how much that was."""
        try:
            return self._socket.send(data, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0

    def can_send_within(self, seconds: float) -> bool:
        """Whether the kernel takes more bytes in this time."""
        return bool(select.select([], [self._socket], [], seconds)[1])

    def hears_within(self, seconds: float) -> bool:
        """Whether something comes, or the stream ends, in this time."""
        return bool(select.select([self._socket], [], [], seconds)[0])

    def read(self) -> Frame:
        """The next frame."""
        header = self._exactly(HEADER_BYTES)
        return decode(header, self._exactly(body_bytes(header)))

    def rest(self) -> bytes:
        """Everything that still comes, up to the end of the stream or a reset."""
        parts = []
        try:
            while part := self._socket.recv(65536):
                parts.append(part)
        except ConnectionResetError:
            pass
        return b"".join(parts)

    def _exactly(self, count: int) -> bytes:
        received = bytearray()
        while len(received) < count:
            part = self._socket.recv(count - len(received))
            if not part:
                raise EOFError(f"the stream ended after {len(received)} of {count} bytes")
            received += part
        return bytes(received)

    def ask(self, request: Request) -> Frame:
        """Sends a request and reads the answer."""
        self.send(request.encode())
        return self.read()

    def prepare(self, code: int, body: bytes = b"") -> Request:
        """The request of a command that is not replicated, as a client makes it now."""
        return Request(COMMAND, code, body, self.client, self.session, self.request)

    def command(self, code: int, body: bytes = b"") -> Reply:
        """Asks for a command that is not replicated."""
        return self._reply(self.prepare(code, body))

    def ping(self) -> None:
        """Pings, and is satisfied with nothing but an answer."""
        assert self.command(1).status == 0

    def login(self, username: str = USERNAME, password: str = PASSWORD) -> Frame:
        """Sends a login and returns what comes back."""
        self.send_login(username, password)
        return self.read_login()

    def send_login(self, username: str = USERNAME, password: str = PASSWORD) -> None:
        """Sends a login and does not wait for what comes back."""
        self.client = next(_client_numbers)
        body = password_body(username, password)
        self.send(Request(REGISTER, body=body, client=self.client).encode())

    def read_login(self) -> Frame:
        """The answer to a login; a session that it brings is this client's from now on."""
        answer = self.read()
        if isinstance(answer, Reply) and answer.status == 0 and answer.rejection == 0:
            self.session = registered(answer).session
        return answer

    def register(self, username: str = USERNAME, password: str = PASSWORD) -> Registered:
        """Logs in."""
        answer = self.login(username, password)
        assert isinstance(answer, Reply), f"the login was answered with {answer}"
        return registered(answer)

    def logout(self) -> None:
        """Logs out; the connection stays."""
        answer = self._reply(Request(LOGOUT, client=self.client, session=self.session, request=self.request))
        assert (answer.status, answer.body) == (0, b"")
        self.session, self.request = 0, 1

    def _reply(self, request: Request) -> Reply:
        answer = self.ask(request)
        assert not isinstance(answer, Eviction), f"evicted instead of answered: {answer}"
        assert (answer.client, answer.request, answer.operation) == (
            request.client,
            request.request,
            request.operation,
        )
        return answer


def registered(reply: Reply) -> Registered:
    """What the reply to a login says."""
    assert (reply.operation, reply.status, reply.rejection) == (REGISTER, 0, 0), reply
    user_id, session, version, length = struct.unpack_from("<IQIB", reply.body, 4)
    name = reply.body[21:]
    assert len(name) == length
    return Registered(user_id, session, version, name.decode())
