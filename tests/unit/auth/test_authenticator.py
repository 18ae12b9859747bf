"""Judging logins: hashes are counted, not timed."""

import asyncio
import threading
from collections.abc import Iterator

import pytest
import structlog
from argon2.exceptions import HashingError
from argon2.low_level import Type, verify_secret

from server_ng.auth import Accepted, Accounts, Authenticator, Busy, Hasher, Refused, passwords
from server_ng.auth.failed_logins import FAILURES_MAX, FailedLogins
from server_ng.auth.passwords import UNKNOWN_USER_HASH, hash_password
from server_ng.metadata.deltas import Delete, Put
from server_ng.metadata.rows import UserRow, user_key
from server_ng.metadata.state import State, fold
from server_ng.wire.tables import UserStatus

HOME = "192.0.2.1:5000"
_ROOT = UserRow(1, UserStatus.ACTIVE, "iggy", hash_password(b"right password"), 0, b"", b"")
_SLEEPER = UserRow(1, UserStatus.INACTIVE, "sleeper", hash_password(b"right password"), 0, b"", b"")


class Gate:
    """Stands in front of the hash function: counts calls, and holds them until it is opened."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.opened.set()
        self.calls: list[bytes] = []
        self.threads: set[str] = set()
        self.failure: Exception | None = None

    def __call__(self, encoded: bytes, password: bytes, kind: Type) -> bool:
        self.calls.append(encoded)
        self.threads.add(threading.current_thread().name)
        assert self.opened.wait(30)
        if self.failure is not None:
            raise self.failure
        return verify_secret(encoded, password, kind)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    gate = Gate()
    monkeypatch.setattr(passwords, "verify_secret", gate)
    return gate


@pytest.fixture
def state() -> State:
    """Two users."""
    state = State()
    fold(state, [Put(user_key(0), _ROOT.encode()), Put(user_key(7), _SLEEPER.encode())])
    return state


@pytest.fixture
def hasher(gate: Gate) -> Iterator[Hasher]:
    hasher = Hasher(waiting_max=4)
    yield hasher
    gate.opened.set()
    hasher.close()


@pytest.fixture
def authenticator(hasher: Hasher, state: State) -> Authenticator:
    return Authenticator(Accounts(lambda: state), FailedLogins(lambda: 0.0), hasher, verified_cache_max=2)


async def test_the_right_password_is_accepted_as_text_and_as_bytes(authenticator: Authenticator) -> None:
    assert await authenticator.verify("iggy", "right password", HOME) == Accepted(0)
    assert await authenticator.verify("iggy", b"right password", HOME) == Accepted(0)


async def test_a_second_login_costs_no_hash(authenticator: Authenticator, gate: Gate) -> None:
    for _ in range(5):
        assert await authenticator.verify("iggy", "right password", HOME) == Accepted(0)
    assert len(gate.calls) == 1


async def test_a_storm_of_equal_logins_costs_one_hash(
    authenticator: Authenticator, hasher: Hasher, gate: Gate
) -> None:
    gate.opened.clear()
    storm = [asyncio.create_task(authenticator.verify("iggy", "right password", HOME)) for _ in range(1_000)]
    await asyncio.sleep(0)
    assert hasher.waiting == 1
    gate.opened.set()
    assert set(await asyncio.gather(*storm)) == {Accepted(0)}
    assert len(gate.calls) == 1
    assert hasher.waiting == 0


@pytest.mark.parametrize(
    ("username", "password", "encoded"),
    [
        ("iggy", "wrong password", _ROOT.password_hash),
        ("nobody", "right password", UNKNOWN_USER_HASH),
        ("sleeper", "right password", _SLEEPER.password_hash),
        ("IGGY", "right password", UNKNOWN_USER_HASH),
    ],
)
async def test_every_refusal_costs_one_hash_each_time(
    authenticator: Authenticator, gate: Gate, username: str, password: str, encoded: bytes
) -> None:
    for attempt in range(1, 4):
        assert await authenticator.verify(username, password, HOME) == Refused()
        assert gate.calls == [encoded] * attempt


@pytest.mark.parametrize(
    ("username", "password"),
    [("ig", "right password"), ("i" * 51, "right password"), ("iggy", "pw"), ("iggy", "p" * 101), ("", "")],
)
async def test_lengths_out_of_bounds_are_refused_before_anything_else(
    authenticator: Authenticator, gate: Gate, username: str, password: str
) -> None:
    assert await authenticator.verify(username, password, HOME) == Refused()
    assert gate.calls == []


@pytest.mark.parametrize("username", ["iggy", "nobody", "sleeper"])
async def test_beyond_some_failures_a_login_costs_no_hash(
    authenticator: Authenticator, gate: Gate, username: str
) -> None:
    for _ in range(FAILURES_MAX):
        assert await authenticator.verify(username, "wrong password", HOME) == Refused()
    for password in ("wrong password", "right password"):
        assert await authenticator.verify(username, password, HOME) == Refused(throttled=True)
    assert len(gate.calls) == FAILURES_MAX
    assert await authenticator.verify(username, "wrong password", "192.0.2.2:5000") == Refused()
    assert await authenticator.verify("other", "wrong password", HOME) == Refused()


async def test_credentials_that_were_verified_pass_after_failures(
    authenticator: Authenticator, gate: Gate
) -> None:
    assert await authenticator.verify("iggy", "right password", HOME) == Accepted(0)
    for number in range(FAILURES_MAX + 1):
        refused = await authenticator.verify("iggy", f"wrong {number}", HOME)
        assert refused == Refused(throttled=number == FAILURES_MAX)
    assert await authenticator.verify("iggy", "right password", HOME) == Accepted(0)
    assert len(gate.calls) == 1 + FAILURES_MAX


async def test_right_passwords_and_hashes_that_are_not_made_count_as_no_failure(
    authenticator: Authenticator, gate: Gate
) -> None:
    for number in range(FAILURES_MAX * 2):
        # The cache holds two, so that most of these cost a hash.
        name = ("iggy", "iggy", "nobody", "other")[number % 4]
        expected = Accepted(0) if name == "iggy" else Refused()
        assert await authenticator.verify(name, "right password", HOME) == expected
    gate.failure = HashingError("Memory allocation error")
    for number in range(FAILURES_MAX):
        assert await authenticator.verify("iggy", f"wrong {number}", HOME) == Busy()
    gate.failure = None
    assert await authenticator.verify("iggy", "wrong password", HOME) == Refused()


async def test_failures_that_run_at_once_count_at_once(authenticator: Authenticator, gate: Gate) -> None:
    for number in range(FAILURES_MAX - 2):
        await authenticator.verify("iggy", f"wrong {number}", HOME)
    gate.opened.clear()
    storm = [asyncio.create_task(authenticator.verify("iggy", f"at once {n}", HOME)) for n in range(4)]
    await asyncio.sleep(0)
    gate.opened.set()
    assert await asyncio.gather(*storm) == [Refused()] * 2 + [Refused(throttled=True)] * 2


async def test_a_full_queue_is_busy_and_empties_again(authenticator: Authenticator, gate: Gate) -> None:
    gate.opened.clear()
    waiting = [asyncio.create_task(authenticator.verify("iggy", f"wrong {n}", HOME)) for n in range(4)]
    await asyncio.sleep(0)
    assert await authenticator.verify("iggy", "one too many", HOME) == Busy()
    gate.opened.set()
    assert await asyncio.gather(*waiting) == [Refused()] * 4
    assert await authenticator.verify("iggy", "right password", HOME) == Accepted(0)
    assert len(gate.threads) <= 2


async def test_a_login_that_gives_up_does_not_take_the_others_with_it(
    authenticator: Authenticator, gate: Gate
) -> None:
    gate.opened.clear()
    first = asyncio.create_task(authenticator.verify("iggy", "right password", HOME))
    second = asyncio.create_task(authenticator.verify("iggy", "right password", HOME))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    gate.opened.set()
    assert await second == Accepted(0)


async def test_closing_answers_everyone(authenticator: Authenticator, hasher: Hasher, gate: Gate) -> None:
    gate.opened.clear()
    waiting = [asyncio.create_task(authenticator.verify("iggy", f"wrong {n}", HOME)) for n in range(4)]
    await asyncio.sleep(0)
    hasher.close()
    assert await asyncio.gather(*waiting) == [Busy()] * 4
    assert await authenticator.verify("iggy", "right password", HOME) == Busy()


async def test_no_memory_for_a_hash_is_busy_not_wrong(authenticator: Authenticator, gate: Gate) -> None:
    gate.failure = HashingError("Memory allocation error")
    with structlog.testing.capture_logs() as logs:
        assert await authenticator.verify("iggy", "right password", HOME) == Busy()
    assert logs == [
        {"event": "password_hash_failed", "reason": "Memory allocation error", "log_level": "error"}
    ]
    gate.failure = None
    assert await authenticator.verify("iggy", "right password", HOME) == Accepted(0)


def test_hashes_have_the_promised_cost() -> None:
    for encoded in (_ROOT.password_hash, UNKNOWN_USER_HASH):
        assert encoded.startswith(b"$argon2id$v=19$m=19456,t=2,p=1$")
    assert hash_password(b"same") != hash_password(b"same")


def test_an_account_does_not_show_its_hash(state: State) -> None:
    assert "argon2" not in repr(Accounts(lambda: state).find("iggy"))
    assert "argon2" not in repr(_ROOT)


async def test_a_changed_password_counts_at_once(authenticator: Authenticator, state: State) -> None:
    assert await authenticator.verify("iggy", "right password", HOME) == Accepted(0)
    changed = _ROOT._replace(password_hash=hash_password(b"another password"), hash_epoch=1)
    fold(state, [Put(user_key(0), changed.encode())])
    assert await authenticator.verify("iggy", "right password", HOME) == Refused()
    assert await authenticator.verify("iggy", "another password", HOME) == Accepted(0)


@pytest.mark.parametrize(
    "change",
    [
        Delete(user_key(0)),
        Put(user_key(0), _ROOT._replace(status=UserStatus.INACTIVE).encode()),
        Put(user_key(0), _ROOT._replace(name="renamed").encode()),
        Put(user_key(0), _ROOT._replace(password_hash=hash_password(b"another password")).encode()),
    ],
    ids=["deleted", "inactive", "renamed", "another password"],
)
async def test_a_user_who_is_changed_during_the_hash_is_refused(
    authenticator: Authenticator, gate: Gate, state: State, change: Delete | Put
) -> None:
    gate.opened.clear()
    login = asyncio.create_task(authenticator.verify("iggy", "right password", HOME))
    await asyncio.sleep(0)
    fold(state, [change])
    gate.opened.set()
    assert await login == Refused()
