"""The bodies of the operations on users: bytes to values and back.

A client sends passwords, the log takes hashes: `CreateUser` and `ChangePassword` are what clients write, and
`AddUser` and `ReplaceHash` what stands under the same operation in the log.
"""

from dataclasses import dataclass, field
from typing import Final, Self

from server_ng.wire.fields import Reader, bytes8, bytes32, name8, u8, u32, u64
from server_ng.wire.identifiers import Identifier, identifier, read_identifier
from server_ng.wire.options import Option, decode_options, encode_options

__all__ = [
    "AddUser",
    "ChangePassword",
    "CreateRoot",
    "CreateUser",
    "DeleteUser",
    "ReplaceHash",
    "UpdatePermissions",
    "UpdateUser",
]

_PRESENT: Final = 1


@dataclass(frozen=True, slots=True)
class CreateRoot:
    """Make the root user, where there are no users."""

    username: str
    password_hash: bytes = field(repr=False)

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """The request that `body` lays out."""
        reader = Reader(body)
        request = cls(reader.name8(), reader.bytes32())
        reader.finish()
        return request

    def encode(self) -> bytes:
        """The body of this request."""
        return name8(self.username) + bytes32(self.password_hash)


@dataclass(frozen=True, slots=True)
class CreateUser:
    """Make a user, as a client asks for it."""

    username: str
    password: bytes = field(repr=False)
    status: int = 1
    permissions: bytes | None = None
    options: tuple[Option, ...] = ()

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """The request that `body` lays out."""
        reader = Reader(body)
        username, password, status = reader.name8(), reader.bytes8(), reader.u8()
        return cls(username, password, status, _read_permissions(reader), decode_options(reader.rest()))

    def encode(self) -> bytes:
        """The body of this request."""
        front = name8(self.username) + bytes8(self.password) + u8(self.status)
        return front + _permissions(self.permissions) + encode_options(self.options)


@dataclass(frozen=True, slots=True)
class AddUser:
    """Make a user, as the log has it."""

    username: str
    password_hash: bytes = field(repr=False)
    status: int = 1
    permissions: bytes | None = None
    options: tuple[Option, ...] = ()

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """The request that `body` lays out."""
        reader = Reader(body)
        username, password_hash, status = reader.name8(), reader.bytes32(), reader.u8()
        return cls(username, password_hash, status, _read_permissions(reader), decode_options(reader.rest()))

    def encode(self) -> bytes:
        """The body of this request."""
        front = name8(self.username) + bytes32(self.password_hash) + u8(self.status)
        return front + _permissions(self.permissions) + encode_options(self.options)


@dataclass(frozen=True, slots=True)
class UpdateUser:
    """Give a user another name or another status."""

    user: Identifier
    username: str | None = None
    status: int | None = None
    options: tuple[Option, ...] = ()

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """The request that `body` lays out."""
        reader = Reader(body)
        user = read_identifier(reader)
        username = reader.name8() if reader.u8() else None
        status = reader.u8() if reader.u8() else None
        return cls(user, username, status, decode_options(reader.rest()))

    def encode(self) -> bytes:
        """The body of this request."""
        username = u8(0) if self.username is None else u8(_PRESENT) + name8(self.username)
        status = u8(0) if self.status is None else u8(_PRESENT) + u8(self.status)
        return identifier(self.user) + username + status + encode_options(self.options)


@dataclass(frozen=True, slots=True)
class DeleteUser:
    """Remove a user."""

    user: Identifier

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """The request that `body` lays out."""
        reader = Reader(body)
        request = cls(read_identifier(reader))
        reader.finish()
        return request

    def encode(self) -> bytes:
        """The body of this request."""
        return identifier(self.user)


@dataclass(frozen=True, slots=True)
class UpdatePermissions:
    """Give a user other permissions, or none."""

    user: Identifier
    permissions: bytes | None = None

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """The request that `body` lays out."""
        reader = Reader(body)
        request = cls(read_identifier(reader), _read_permissions(reader))
        reader.finish()
        return request

    def encode(self) -> bytes:
        """The body of this request."""
        return identifier(self.user) + _permissions(self.permissions)


@dataclass(frozen=True, slots=True)
class ChangePassword:
    """Give a user another password, as a client asks for it."""

    user: Identifier
    current: bytes = field(repr=False)
    new: bytes = field(repr=False)

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """The request that `body` lays out."""
        reader = Reader(body)
        request = cls(read_identifier(reader), reader.bytes8(), reader.bytes8())
        reader.finish()
        return request

    def encode(self) -> bytes:
        """The body of this request."""
        return identifier(self.user) + bytes8(self.current) + bytes8(self.new)


@dataclass(frozen=True, slots=True)
class ReplaceHash:
    """Give a user another password, as the log has it."""

    user: int
    hash_epoch: int
    """Of the hash that the current password was verified against."""
    password_hash: bytes = field(repr=False)

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """The request that `body` lays out."""
        reader = Reader(body)
        request = cls(reader.u32(), reader.u64(), reader.bytes32())
        reader.finish()
        return request

    def encode(self) -> bytes:
        """The body of this request."""
        return u32(self.user) + u64(self.hash_epoch) + bytes32(self.password_hash)


def _read_permissions(reader: Reader) -> bytes | None:
    return reader.bytes32() if reader.u8() == _PRESENT else None


def _permissions(permissions: bytes | None) -> bytes:
    return u8(0) if permissions is None else u8(_PRESENT) + bytes32(permissions)
