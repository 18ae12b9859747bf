"""Checking a name and a password, in bounded time and memory, without telling why it failed."""

import asyncio
from dataclasses import dataclass
from typing import TypeAlias

import structlog
from argon2.exceptions import Argon2Error

from server_ng.auth.accounts import Account, Accounts
from server_ng.auth.failed_logins import Bucket, FailedLogins, bucket_of
from server_ng.auth.passwords import UNKNOWN_USER_HASH, Hasher, HashesBusyError
from server_ng.auth.verified_cache import VerifiedCache
from server_ng.wire.credentials import PASSWORD_BYTES, USERNAME_BYTES

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
        self, accounts: Accounts, failed: FailedLogins, hasher: Hasher, verified_cache_max: int
    ) -> None:
        self._accounts = accounts
        self._hasher = hasher
        self._verified = VerifiedCache(verified_cache_max)
        self._failed = failed
        self._running: dict[bytes, asyncio.Future[bool]] = {}

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
            begun = self._start(bucket, fingerprint, encoded, secret)
            if isinstance(begun, Refused | Busy):
                return begun
            hashing = begun
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
        return self._verdict(username, account, fingerprint, matches)

    def _start(
        self, bucket: Bucket, fingerprint: bytes, encoded: bytes, secret: bytes
    ) -> asyncio.Future[bool] | Refused | Busy:
        if not self._failed.has_room(bucket):
            return Refused(throttled=True)
        try:
            hashing = self._hasher.matches(encoded, secret)
        except HashesBusyError:
            return Busy()
        self._running[fingerprint] = hashing
        hashing.add_done_callback(lambda _: self._running.pop(fingerprint, None))
        return hashing

    def _count(self, bucket: Bucket, hashing: asyncio.Future[bool], account: Account | None) -> None:
        """Counts a login as failed until its hash says otherwise: logins at once are guesses, too."""
        self._failed.add(bucket)

        def settle(hashed: asyncio.Future[bool]) -> None:
            undecided = hashed.cancelled() or hashed.exception() is not None
            if undecided or (account is not None and account.active and hashed.result()):
                self._failed.take_back(bucket)

        hashing.add_done_callback(settle)

    def _verdict(self, username: str, account: Account | None, fingerprint: bytes, matches: bool) -> Verdict:
        # The user may have been changed or deleted while the password was hashed.
        if not matches or account is None or not account.active or self._accounts.find(username) != account:
            return Refused()
        self._verified.add(fingerprint)
        return Accepted(account.user_id)
