"""Argon2id: making a password hash and checking a password against one, off the loop."""

import asyncio
import secrets
from concurrent.futures import ThreadPoolExecutor

from argon2.exceptions import VerifyMismatchError
from argon2.low_level import Type, hash_secret, verify_secret

__all__ = ["UNKNOWN_USER_HASH", "Hasher", "hash_password"]

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


class Hasher:
    """Two threads that do nothing but hash, each call one C function that releases the interpreter lock."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="argon2")

    async def matches(self, encoded: bytes, password: bytes) -> bool:
        """Whether `password` has the hash `encoded`; raises Argon2Error when there is no memory to tell."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, _matches, encoded, password)

    def close(self) -> None:
        """Drops what is waiting; a hash that is running ends by itself."""
        self._threads.shutdown(wait=False, cancel_futures=True)
