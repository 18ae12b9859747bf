"""Checking a name and a password, in bounded time and memory, without telling why it failed."""

import asyncio
from dataclasses import dataclass
from typing import TypeAlias

import structlog
from argon2.exceptions import Argon2Error

from server_ng.auth.accounts import PASSWORD_BYTES, USERNAME_BYTES, Account, Accounts
from server_ng.auth.failed_logins import Bucket, FailedLogins, bucket_of
from server_ng.auth.passwords import UNKNOWN_USER_HASH, Hasher
from server_ng.auth.verified_cache import VerifiedCache

__all__ = ["Accepted", "Authenticator", "Busy", "Refused", "Verdict"]

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Accepted:
    """The password is right and the user may log in."""

    user_id: int


@dataclass(frozen=True, slots=True)
class Refused:
    """The credentials are wrong; it is not said whether name, password or status was."""

    throttled: bool = False
    """They were not looked at: too many logins by this address for this name have failed."""


@dataclass(frozen=True, slots=True)
class Busy:
    """Too many logins are waiting; the client may try again."""


Verdict: TypeAlias = Accepted | Refused | Busy


class Authenticator:
    """Judges password logins on the loop's thread; only hashing leaves it.

    Equal logins that arrive together share one hash, and a verified one is remembered. A wrong password, an
    unknown name and an inactive user each cost the same one hash. Few hashes may fail for an address and a
    name; then only credentials that were verified earlier pass.
    """

    def __init__(
        self, accounts: Accounts, failed: FailedLogins, login_queue_max: int, verified_cache_max: int
    ) -> None:
        self._accounts = accounts
        self._queue_max = login_queue_max
        self._verified = VerifiedCache(verified_cache_max)
        self._failed = failed
        self._hasher = Hasher()
        self._closed = False
        self._running: dict[bytes, asyncio.Task[bool]] = {}

    @property
    def waiting(self) -> int:
        """Hashes that are queued or running."""
        return len(self._running)

    async def verify(self, username: str, password: bytes | str, address: str) -> Verdict:
        """Whether this user may log in with this password, asked from an address with a port."""
        name = username.encode(errors="surrogatepass")
        secret = password.encode(errors="surrogatepass") if isinstance(password, str) else password
        if len(name) not in USERNAME_BYTES or len(secret) not in PASSWORD_BYTES:
            return Refused()
        account = self._accounts.find(username)
        encoded = account.encoded if account is not None else UNKNOWN_USER_HASH
        fingerprint = self._verified.fingerprint(name, secret, encoded)
        if fingerprint in self._verified and account is not None and account.active:
            return Accepted(account.user_id)
        hashing = self._running.get(fingerprint)
        if hashing is None:
            bucket = bucket_of(address, name)
            if turned_away := self._turned_away(bucket):
                return turned_away
            hashing = self._start(fingerprint, encoded, secret)
            self._count(bucket, hashing, account)
        try:
            # Shielded, because others may wait for the same hash when this login is cancelled.
            matches = await asyncio.shield(hashing)
        except asyncio.CancelledError:
            if not hashing.cancelled():
                raise
            return Busy()
        except Argon2Error as error:
            _log.error("password_hash_failed", reason=str(error))
            return Busy()
        return self._verdict(account, fingerprint, matches)

    def close(self) -> None:
        """Cancels what is waiting: every `verify` under way, and every later one, says busy."""
        self._closed = True
        for hashing in self._running.values():
            hashing.cancel()
        self._hasher.close()

    def _turned_away(self, bucket: Bucket) -> Refused | Busy | None:
        """Why a login costs no hash, if it does not."""
        if not self._failed.has_room(bucket):
            return Refused(throttled=True)
        return Busy() if self._closed or len(self._running) >= self._queue_max else None

    def _start(self, fingerprint: bytes, encoded: bytes, secret: bytes) -> asyncio.Task[bool]:
        hashing = asyncio.create_task(self._hasher.matches(encoded, secret), name="password hash")
        self._running[fingerprint] = hashing
        hashing.add_done_callback(lambda _: self._running.pop(fingerprint, None))
        return hashing

    def _count(self, bucket: Bucket, hashing: asyncio.Task[bool], account: Account | None) -> None:
        """Counts a login as failed until its hash says otherwise: logins at once are guesses, too."""
        self._failed.add(bucket)

        def settle(hashed: asyncio.Task[bool]) -> None:
            undecided = hashed.cancelled() or hashed.exception() is not None
            if undecided or (account is not None and account.active and hashed.result()):
                self._failed.take_back(bucket)

        hashing.add_done_callback(settle)

    def _verdict(self, account: Account | None, fingerprint: bytes, matches: bool) -> Verdict:
        if account is None or not account.active or not matches:
            return Refused()
        self._verified.add(fingerprint)
        return Accepted(account.user_id)
