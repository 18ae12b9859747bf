"""The verified-credential cache: bounded, keyed, and tied to the stored hash."""

from hypothesis import given
from hypothesis import strategies as st

from server_ng.auth.verified_cache import VerifiedCache


def test_the_least_recently_used_goes_first() -> None:
    cache = VerifiedCache(2)
    first, second, third = (cache.fingerprint(b"user", bytes([n]), b"hash") for n in range(3))
    cache.add(first)
    cache.add(second)
    assert first in cache
    cache.add(third)
    assert (first in cache, second in cache, third in cache) == (True, False, True)
    assert len(cache) == 2


def test_a_fingerprint_says_nothing_to_another_process() -> None:
    assert VerifiedCache(1).fingerprint(b"u", b"p", b"h") != VerifiedCache(1).fingerprint(b"u", b"p", b"h")


@given(st.lists(st.tuples(st.binary(), st.binary(), st.binary()), min_size=2, unique=True))
def test_different_credentials_have_different_fingerprints(
    credentials: list[tuple[bytes, bytes, bytes]],
) -> None:
    cache = VerifiedCache(1)
    assert len({cache.fingerprint(*parts) for parts in credentials}) == len(credentials)


def test_the_boundary_between_the_parts_counts() -> None:
    cache = VerifiedCache(1)
    assert cache.fingerprint(b"ab", b"c", b"h") != cache.fingerprint(b"a", b"bc", b"h")
