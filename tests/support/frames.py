"""Frames of the client wire, laid out by hand after Iggy wire protocol 0.11: nothing here is the server's."""

import struct
from dataclasses import dataclass
from typing import Final, TypeAlias

__all__ = [
    "CLIENT",
    "COMMAND",
    "HEADER_BYTES",
    "LOGOUT",
    "PROTOCOL_VERSION",
    "REGISTER",
    "Eviction",
    "Frame",
    "Reply",
    "Request",
    "body_bytes",
    "decode",
    "password_body",
    "token_body",
]

HEADER_BYTES: Final = 256
REGISTER, COMMAND, LOGOUT = 1, 2, 3
"""Operations. A `COMMAND` is not replicated and says in the header which it is."""

CLIENT: Final = 0x100F0E0D0C0B0A090807060504030201
"""What the reference's client calls itself."""

PROTOCOL_VERSION: Final = 11 << 10

_MASK_64: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Request:
    """A request; what is not given is as a client leaves it."""

    operation: int = COMMAND
    code: int = 0
    body: bytes = b""
    client: int = CLIENT
    session: int = 0
    request: int = 0
    checksum: int = 0
    timestamp: int = 0
    size: int | None = None
    """What the header says; for the real size, none."""
    kind: int = 5

    def encode(self) -> bytes:
        """The frame."""
        header = bytearray(HEADER_BYTES)
        size = HEADER_BYTES + len(self.body) if self.size is None else self.size
        struct.pack_into("<I", header, 48, size)
        header[60] = self.kind
        struct.pack_into("<QQ", header, 128, self.client & _MASK_64, self.client >> 64)
        struct.pack_into("<QQ", header, 144, self.checksum & _MASK_64, self.checksum >> 64)
        struct.pack_into("<QQB", header, 160, self.timestamp, self.request, self.operation)
        struct.pack_into("<Q", header, 184, self.session)
        struct.pack_into("<I", header, 196, self.code)
        return bytes(header) + self.body


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer."""

    request_checksum: int
    client: int
    op: int
    commit: int
    timestamp: int
    request: int
    operation: int
    status: int
    body: bytes

    @property
    def rejection(self) -> int:
        """The error code in the result section; 0 is success."""
        (count,) = struct.unpack_from("<I", self.body)
        if count == 0:
            return 0
        (code,) = struct.unpack_from("<I", self.body, 8)
        return int(code)


@dataclass(frozen=True, slots=True)
class Eviction:
    """The end of a session, or the refusal of a login."""

    client: int
    reason: int
    version: int
    version_min: int


Frame: TypeAlias = Reply | Eviction


def body_bytes(header: bytes) -> int:
    """How many bytes follow this header."""
    (size,) = struct.unpack_from("<I", header, 48)
    assert size >= HEADER_BYTES, f"a frame of {size} bytes"
    return int(size) - HEADER_BYTES


def decode(header: bytes, body: bytes) -> Frame:
    """A frame from the server; what must be zero is checked to be."""
    assert header[:32] == bytes(32), "checksums of the client wire are zero"
    assert header[62:128] == bytes(66), "the reserved part of the frame is zero"
    match header[60]:
        case 8:
            assert header[220:] == bytes(36), "the reserved part of a reply is zero"
            low, high, client_low, client_high = struct.unpack_from("<QQ16xQQ", header, 128)
            op, commit, timestamp, request, operation = struct.unpack_from("<QQQQB", header, 176)
            (status,) = struct.unpack_from("<I", header, 216)
            client = client_low | client_high << 64
            checksum = low | high << 64
            return Reply(checksum, client, op, commit, timestamp, request, operation, status, body)
        case 13:
            assert not body, "an eviction has no body"
            low, high, version, version_min = struct.unpack_from("<QQII", header, 128)
            return Eviction(low | high << 64, header[255], version, version_min)
        case kind:
            raise AssertionError(f"a frame of kind {kind} from a server")


def password_body(username: str, password: str, version: int = PROTOCOL_VERSION) -> bytes:
    """The body of a login by name and password."""
    return _login_prefix(version) + _name(username) + _name(password) + bytes(4)


def token_body(token: str) -> bytes:
    """The body of a login by personal access token."""
    return _login_prefix(PROTOCOL_VERSION) + _name(token) + bytes(4)


def _login_prefix(version: int) -> bytes:
    return struct.pack("<I", version) + _name("rust-sdk") + _name("0.11.0")


def _name(text: str) -> bytes:
    encoded = text.encode()
    return bytes([len(encoded)]) + encoded
