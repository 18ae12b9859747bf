"""Credentials that were verified since the start, so that a storm of the same logins costs one hash."""

import hashlib
import secrets
from collections import OrderedDict

__all__ = ["VerifiedCache"]

_KEY_BYTES = 32


class VerifiedCache:
    """A bounded set of fingerprints, the least recently used of which goes first.

    A fingerprint is a keyed hash under a key that only this process has, so that neither a memory dump of
    another boot nor a collision search says anything about a password. It covers the stored hash: once a
    password is changed, the old fingerprint can never match again.
    """

    def __init__(self, capacity: int) -> None:
        self._key = secrets.token_bytes(_KEY_BYTES)
        self._capacity = capacity
        self._seen: OrderedDict[bytes, None] = OrderedDict()

    def fingerprint(self, username: bytes, password: bytes, encoded: bytes) -> bytes:
        """What stands for these three here."""
        digest = hashlib.blake2b(key=self._key, digest_size=32)
        for part in (username, password, encoded):
            digest.update(len(part).to_bytes(4, "little"))
            digest.update(part)
        return digest.digest()

    def __contains__(self, fingerprint: bytes) -> bool:
        if fingerprint not in self._seen:
            return False
        self._seen.move_to_end(fingerprint)
        return True

    def __len__(self) -> int:
        return len(self._seen)

    def add(self, fingerprint: bytes) -> None:
        """Remembers a verified credential."""
        self._seen[fingerprint] = None
        self._seen.move_to_end(fingerprint)
        if len(self._seen) > self._capacity:
            self._seen.popitem(last=False)
