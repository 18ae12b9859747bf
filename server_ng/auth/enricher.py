"""Changes of users before the log: passwords are verified and hashed, and only the hashes go on."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import structlog
from argon2.exceptions import Argon2Error

from server_ng.auth.passwords import Hasher, HashesBusyError
from server_ng.metadata.state import State
from server_ng.metadata.users import user_of
from server_ng.wire.refusals import RefusedError
from server_ng.wire.tables import ErrorCode, Operation
from server_ng.wire.user_requests import AddUser, ChangePassword, CreateUser, ReplaceHash

__all__ = ["Enricher"]

_log = structlog.get_logger()
_T = TypeVar("_T")


class Enricher:
    """Makes the body that the log takes of a client's. The engine has checked bounds and permission."""

    def __init__(self, state: Callable[[], State], hasher: Hasher) -> None:
        self._state = state
        self._hasher = hasher

    async def enrich(self, operation: int, body: bytes) -> bytes:
        """The body for the log; raises `RefusedError`."""
        match operation:
            case Operation.CREATE_USER:
                return await self._create_user(CreateUser.decode(body))
            case Operation.CHANGE_PASSWORD:
                return await self._change_password(ChangePassword.decode(body))
            case _:
                raise RefusedError(ErrorCode.FEATURE_UNAVAILABLE, f"operation {operation} needs no hash")

    async def _create_user(self, request: CreateUser) -> bytes:
        encoded = await self._settled(lambda: self._hasher.hash(request.password))
        added = AddUser(request.username, encoded, request.status, request.permissions, request.options)
        return added.encode()

    async def _change_password(self, request: ChangePassword) -> bytes:
        state = self._state()
        user = user_of(state, request.user)
        row = state.users[user]
        if not await self._settled(lambda: self._hasher.matches(row.password_hash, request.current)):
            raise RefusedError(ErrorCode.INVALID_CREDENTIALS, "the current password is another one")
        encoded = await self._settled(lambda: self._hasher.hash(request.new))
        return ReplaceHash(user, row.hash_epoch, encoded).encode()

    async def _settled(self, start: Callable[[], asyncio.Future[_T]]) -> _T:
        try:
            hashing = start()
        except HashesBusyError as error:
            raise _busy() from error
        try:
            return await hashing
        except asyncio.CancelledError:
            if not hashing.cancelled():
                raise
            raise _busy() from None
        except Argon2Error as error:
            _log.error("password_hash_failed", reason=str(error))
            raise _busy() from error


def _busy() -> RefusedError:
    return RefusedError(ErrorCode.TRANSIENT_NOT_ACCEPTED, "no password can be hashed now")
