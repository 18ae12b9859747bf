"""Failed logins, counted so that passwords cannot be guessed: few a second for each address and name."""

import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from typing import Final, TypeAlias

__all__ = ["Bucket", "FailedLogins", "bucket_of"]

Bucket: TypeAlias = tuple[bytes, bytes]
"""The network of an address and a user name. No account is locked: others may still try the same name."""

FAILURES_MAX: Final = 10
SECONDS_PER_FAILURE: Final = 1.0
BUCKETS_MAX: Final = 8_192
# A host has a whole /64 of IPv6 addresses to itself.
_NETWORK_BYTES_V6: Final = 8


def bucket_of(address: str, name: bytes) -> Bucket:
    """Where a login counts that comes from `address`, which has a port."""
    host = address.rpartition(":")[0].strip("[]")
    if not host:
        # Its connection is gone.
        return b"", name
    parsed = ip_address(host)
    if isinstance(parsed, IPv6Address):
        mapped = parsed.ipv4_mapped
        return parsed.packed[:_NETWORK_BYTES_V6] if mapped is None else mapped.packed, name
    return parsed.packed, name


class FailedLogins:
    """Counts failures in buckets that empty by one a second; the least recently used bucket goes first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._empty_at: OrderedDict[Bucket, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._empty_at)

    def has_room(self, bucket: Bucket) -> bool:
        """Whether one more login may fail."""
        room = self._filled(bucket) + SECONDS_PER_FAILURE <= FAILURES_MAX * SECONDS_PER_FAILURE
        if bucket in self._empty_at:
            self._empty_at.move_to_end(bucket)
        return room

    def add(self, bucket: Bucket) -> None:
        """Counts a login that fails, or whose end is not known yet."""
        self._empty_at[bucket] = self._clock() + self._filled(bucket) + SECONDS_PER_FAILURE
        self._empty_at.move_to_end(bucket)
        if len(self._empty_at) > BUCKETS_MAX:
            self._empty_at.popitem(last=False)

    def take_back(self, bucket: Bucket) -> None:
        """The login that was counted last did not fail."""
        if bucket in self._empty_at:
            self._empty_at[bucket] -= SECONDS_PER_FAILURE

    def _filled(self, bucket: Bucket) -> float:
        """Seconds until the bucket is empty."""
        return max(0.0, self._empty_at.get(bucket, 0.0) - self._clock())
