"""Argon2id: making a password hash and checking a password against one, off the loop."""

import asyncio
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from argon2.exceptions import VerifyMismatchError
from argon2.low_level import Type, hash_secret, verify_secret

__all__ = ["UNKNOWN_USER_HASH", "Hasher", "HashesBusyError", "hash_password"]

_T = TypeVar("_T")

_MEMORY_KIB = 19 * 1024
_PASSES = 2
_LANES = 1
_SALT_BYTES = 16
_HASH_BYTES = 32
# Each running hash holds 19 MiB and one processor; a third would only take them from the shards.
_AT_ONCE = 2

UNKNOWN_USER_HASH = (
    b"$argon2id$v=19$m=19456,t=2,p=1$c2VydmVyLW5nLm5vYm9keQ$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
)
"""A hash of the same cost that no password has been found for: what an unknown user is checked against."""


def hash_password(password: bytes) -> bytes:
    """The encoded hash of `password` under a fresh salt; takes as long as a login."""
    salt = secrets.token_bytes(_SALT_BYTES)
    return hash_secret(password, salt, _PASSES, _MEMORY_KIB, _LANES, _HASH_BYTES, Type.ID)


def _matches(encoded: bytes, password: bytes) -> bool:
    try:
        return verify_secret(encoded, password, Type.ID)
    except VerifyMismatchError:
        return False


class HashesBusyError(Exception):
    """Too many passwords wait for a hash, or the server stops."""


class Hasher:
    """Two threads that do nothing but hash, each call one C function that releases the interpreter lock.

    Logins and changes of users share them and their queue. A future that `close` cancelled was busy, too; one
    that fails with Argon2Error found no memory.
    """

    def __init__(self, waiting_max: int) -> None:
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="argon2")
        self._waiting_max = waiting_max
        self._running: set[asyncio.Future[Any]] = set()
        self._closed = False

    @property
    def waiting(self) -> int:
        """Hashes that are queued or running."""
        return len(self._running)

    def matches(self, encoded: bytes, password: bytes) -> asyncio.Future[bool]:
        """Whether `password` has the hash `encoded`; raises `HashesBusyError`."""
        return self._start(_matches, encoded, password)

    def hash(self, password: bytes) -> asyncio.Future[bytes]:
        """The encoded hash of `password` under a fresh salt; raises `HashesBusyError`."""
        return self._start(hash_password, password)

    def close(self) -> None:
        """Cancels what is waiting; a hash that is running ends by itself, unheard."""
        self._closed = True
        for future in list(self._running):
            future.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _start(self, work: Callable[..., _T], *arguments: bytes) -> asyncio.Future[_T]:
        if self._closed or len(self._running) >= self._waiting_max:
            raise HashesBusyError
        future = asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return future
