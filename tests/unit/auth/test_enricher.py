"""What becomes of bodies with passwords before the log: hashes go on, passwords do not."""

import asyncio
from collections.abc import Iterator

import pytest
from argon2.exceptions import HashingError
from argon2.low_level import Type, verify_secret

from server_ng.auth import Enricher, Hasher, passwords
from server_ng.auth.passwords import hash_password
from server_ng.metadata.deltas import Put
from server_ng.metadata.rows import UserRow, user_key
from server_ng.metadata.state import State, fold
from server_ng.wire.options import Option, ValueKind
from server_ng.wire.refusals import RefusedError
from server_ng.wire.tables import ErrorCode, Operation, UserStatus
from server_ng.wire.user_requests import AddUser, ChangePassword, CreateUser, ReplaceHash

_BOB = UserRow(1, UserStatus.INACTIVE, "bob", hash_password(b"old secret"), 4, b"", b"")


@pytest.fixture
def hasher() -> Iterator[Hasher]:
    hasher = Hasher(waiting_max=2)
    yield hasher
    hasher.close()


@pytest.fixture
def enricher(hasher: Hasher) -> Enricher:
    state = State()
    fold(state, [Put(user_key(1), _BOB.encode())])
    return Enricher(lambda: state, hasher)


async def refusal(enricher: Enricher, operation: int, body: bytes) -> ErrorCode:
    with pytest.raises(RefusedError) as refused:
        await enricher.enrich(operation, body)
    return refused.value.code


async def test_a_new_user_comes_with_a_hash(enricher: Enricher) -> None:
    asked = CreateUser("ann", b"a secret", 2, b"block", (Option("key", ValueKind.TEXT, b"value"),))
    body = await enricher.enrich(Operation.CREATE_USER, asked.encode())
    assert b"a secret" not in body
    added = AddUser.decode(body)
    assert verify_secret(added.password_hash, b"a secret", Type.ID)
    assert (added.username, added.status) == (asked.username, asked.status)
    assert (added.permissions, added.options) == (asked.permissions, asked.options)
    assert body != await enricher.enrich(Operation.CREATE_USER, asked.encode()), "another salt each time"


async def test_a_changed_password_names_what_it_was_verified_against(enricher: Enricher) -> None:
    for user in (1, "bob"):
        asked = ChangePassword(user, b"old secret", b"new secret")
        body = await enricher.enrich(Operation.CHANGE_PASSWORD, asked.encode())
        assert b"secret" not in body
        changed = ReplaceHash.decode(body)
        assert (changed.user, changed.hash_epoch) == (1, 4)
        assert verify_secret(changed.password_hash, b"new secret", Type.ID)


async def test_a_wrong_password_and_an_unknown_user_are_refused(enricher: Enricher) -> None:
    change = Operation.CHANGE_PASSWORD
    wrong = ChangePassword(1, b"wrong secret", b"new secret").encode()
    unknown = ChangePassword("nobody", b"old secret", b"new secret").encode()
    assert await refusal(enricher, change, wrong) == ErrorCode.INVALID_CREDENTIALS
    assert await refusal(enricher, change, unknown) == ErrorCode.RESOURCE_NOT_FOUND
    assert await refusal(enricher, change, b"\x01") == ErrorCode.INVALID_COMMAND


async def test_a_full_queue_and_a_stop_are_busy(enricher: Enricher, hasher: Hasher) -> None:
    asked = CreateUser("ann", b"a secret").encode()
    first = [asyncio.create_task(enricher.enrich(Operation.CREATE_USER, asked)) for _ in range(2)]
    await asyncio.sleep(0)
    assert await refusal(enricher, Operation.CREATE_USER, asked) == ErrorCode.TRANSIENT_NOT_ACCEPTED
    hasher.close()
    for task in first:
        with pytest.raises(RefusedError):
            await task
    assert await refusal(enricher, Operation.CREATE_USER, asked) == ErrorCode.TRANSIENT_NOT_ACCEPTED


async def test_no_memory_for_a_hash_is_busy(enricher: Enricher, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise HashingError("Memory allocation error")

    monkeypatch.setattr(passwords, "hash_secret", fail)
    asked = CreateUser("ann", b"a secret").encode()
    assert await refusal(enricher, Operation.CREATE_USER, asked) == ErrorCode.TRANSIENT_NOT_ACCEPTED


def test_no_request_shows_a_secret() -> None:
    for request in (
        CreateUser("ann", b"a secret"),
        AddUser("ann", b"a secret"),
        ChangePassword("ann", b"a secret", b"a secret"),
        ReplaceHash(1, 1, b"a secret"),
    ):
        assert "secret" not in repr(request)
