"""What ops on users come to: results, replies, rows, and the order of the checks."""

import pytest

from server_ng.metadata.deltas import Delete, Put, encode_deltas
from server_ng.metadata.machine import Metadata
from server_ng.metadata.ops import Outcome
from server_ng.metadata.rows import NEXT_USER_KEY, UserRow, encode_next_user, user_key
from server_ng.metadata.users import ROOT_PERMISSIONS
from server_ng.wire.options import Option, ValueKind
from server_ng.wire.permissions import Permissions, StreamPermissions, TopicPermissions
from server_ng.wire.requests import CreateStream, CreateTopic, DeleteStream, DeleteTopic
from server_ng.wire.tables import ErrorCode, Operation, ReplyKind, StreamFlag, TopicFlag, UserStatus
from server_ng.wire.user_requests import (
    AddUser,
    CreateRoot,
    DeleteUser,
    ReplaceHash,
    UpdatePermissions,
    UpdateUser,
)
from tests.support.metadata_log import FIRST_TIMESTAMP, MetadataLog, Request, rows_digest

OPTION = (Option("key", ValueKind.TEXT, b"value"),)
BLOCK = bytes(11)


def founded() -> MetadataLog:
    """Root, and user 1 who is called bob."""
    log = MetadataLog()
    assert log.do(CreateRoot("iggy", b"root hash")).result == 0
    assert log.do(AddUser("bob", b"bob hash", permissions=BLOCK)).result == 0
    return log


def row_of(log: MetadataLog, user: int) -> UserRow:
    return log.machine.state.users[user]


def test_root_is_the_first_user_and_only_that() -> None:
    log = MetadataLog()
    row = UserRow(FIRST_TIMESTAMP + 1, UserStatus.ACTIVE, "iggy", b"root hash", 0, ROOT_PERMISSIONS, b"")
    made = log.do(CreateRoot("iggy", b"root hash"))
    assert made.deltas == (Put(NEXT_USER_KEY, encode_next_user(1)), Put(user_key(0), row.encode()))
    assert log.do(CreateRoot("other", b"hash")) == Outcome(ErrorCode.USER_ALREADY_EXISTS)
    assert log.machine.state.user_ids == {"iggy": 0}


def test_a_user_gets_the_next_number_for_ever() -> None:
    log = founded()
    made = log.do(AddUser("ann", b"hash", status=2))
    row = UserRow(FIRST_TIMESTAMP + 3, UserStatus.INACTIVE, "ann", b"hash", 0, b"", b"")
    deltas = (Put(NEXT_USER_KEY, encode_next_user(3)), Put(user_key(2), row.encode()))
    assert made == Outcome(reply=ReplyKind.USER, user=2, deltas=deltas)
    assert log.do(DeleteUser("ann")) == Outcome(deltas=(Delete(user_key(2)),))
    assert log.do(AddUser("ann", b"hash")).user == 3
    assert sorted(log.machine.state.users) == [0, 1, 3]


@pytest.mark.parametrize(("status", "stored"), [(0, 1), (1, 1), (2, 2), (3, 1), (255, 1)])
def test_an_unknown_status_is_active_in_a_new_user(status: int, stored: int) -> None:
    log = founded()
    log.do(AddUser("ann", b"hash", status=status))
    assert row_of(log, 2).status == stored


@pytest.mark.parametrize(("status", "stored"), [(0, 1), (1, 1), (2, 2), (3, 1)])
def test_an_unknown_status_changes_nothing(status: int, stored: int) -> None:
    log = founded()
    assert log.do(UpdateUser("bob", status=status)).result == 0
    assert row_of(log, 1).status == stored


def test_an_update_without_fields_changes_nothing() -> None:
    log = founded()
    assert log.do(UpdateUser(1)) == Outcome()
    assert log.do(UpdateUser(1, username="bob")) == Outcome()


def test_a_rename_keeps_the_number() -> None:
    log = founded()
    assert log.do(UpdateUser("bob", username="robert", status=2)).result == 0
    assert (row_of(log, 1).name, row_of(log, 1).status) == ("robert", UserStatus.INACTIVE)
    assert log.machine.state.user_ids == {"iggy": 0, "robert": 1}
    assert log.do(AddUser("bob", b"hash")).user == 2
    assert log.do(UpdateUser(0, username="admin")).result == 0


def test_permissions_are_replaced_and_cleared() -> None:
    log = founded()
    assert row_of(log, 1).permissions == BLOCK
    assert log.do(UpdatePermissions("bob", ROOT_PERMISSIONS)).result == 0
    assert row_of(log, 1).permissions == ROOT_PERMISSIONS
    assert log.do(UpdatePermissions("bob")).result == 0
    assert row_of(log, 1).permissions == b""


def test_of_two_password_changes_at_once_one_wins() -> None:
    log = founded()
    first, second = ReplaceHash(1, 0, b"first"), ReplaceHash(1, 0, b"second")
    assert log.do(first, user_id=1).result == 0
    assert log.do(second, user_id=1) == Outcome(ErrorCode.INVALID_CREDENTIALS)
    assert (row_of(log, 1).password_hash, row_of(log, 1).hash_epoch) == (b"first", 1)
    assert log.do(ReplaceHash(1, 1, b"by root")).result == 0


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (AddUser("bo", b"hash", options=OPTION), ErrorCode.INVALID_USERNAME),
        (AddUser("b" * 51, b"hash"), ErrorCode.INVALID_USERNAME),
        (AddUser("\N{EURO SIGN}" * 17, b"hash"), ErrorCode.INVALID_USERNAME),
        (AddUser("bob", b"hash", permissions=b""), ErrorCode.INVALID_COMMAND),
        (AddUser("bob", b"hash", permissions=bytes(65_537)), ErrorCode.INVALID_COMMAND),
        (AddUser("bob", b"hash", options=OPTION), ErrorCode.UNSUPPORTED_OPTION_KEY),
        (AddUser("bob", b"hash"), ErrorCode.USER_ALREADY_EXISTS),
        (UpdateUser("nobody", username="bo"), ErrorCode.INVALID_USERNAME),
        (UpdateUser("nobody", username="iggy", options=OPTION), ErrorCode.UNSUPPORTED_OPTION_KEY),
        (UpdateUser("nobody", username="iggy"), ErrorCode.RESOURCE_NOT_FOUND),
        (UpdateUser("bob", username="iggy"), ErrorCode.USER_ALREADY_EXISTS),
        (DeleteUser(7), ErrorCode.RESOURCE_NOT_FOUND),
        (DeleteUser("iggy"), ErrorCode.CANNOT_DELETE_USER),
        (UpdatePermissions("nobody", bytes(65_537)), ErrorCode.INVALID_COMMAND),
        (UpdatePermissions("nobody"), ErrorCode.RESOURCE_NOT_FOUND),
        (UpdatePermissions(0), ErrorCode.CANNOT_CHANGE_PERMISSIONS),
        (ReplaceHash(7, 0, b"hash"), ErrorCode.RESOURCE_NOT_FOUND),
        (ReplaceHash(0, 1, b"hash"), ErrorCode.INVALID_CREDENTIALS),
    ],
)
def test_refusals_change_nothing(request_: Request, code: ErrorCode) -> None:
    log = founded()
    before = rows_digest(log.machine.state)
    assert log.do(request_) == Outcome(code)
    assert rows_digest(log.machine.state) == before


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (AddUser("bo", b"hash"), ErrorCode.INVALID_USERNAME),
        (AddUser("iggy", b"hash"), ErrorCode.UNAUTHORIZED),
        (UpdateUser("nobody"), ErrorCode.RESOURCE_NOT_FOUND),
        (UpdateUser("bob", username="iggy"), ErrorCode.UNAUTHORIZED),
        (DeleteUser("nobody"), ErrorCode.RESOURCE_NOT_FOUND),
        (DeleteUser("iggy"), ErrorCode.UNAUTHORIZED),
        (UpdatePermissions("nobody"), ErrorCode.RESOURCE_NOT_FOUND),
        (UpdatePermissions("iggy"), ErrorCode.UNAUTHORIZED),
        (ReplaceHash(7, 0, b"hash"), ErrorCode.RESOURCE_NOT_FOUND),
        (ReplaceHash(0, 9, b"hash"), ErrorCode.UNAUTHORIZED),
    ],
)
def test_a_target_is_judged_before_the_right_and_that_before_the_rule(request_: Request, code: int) -> None:
    log = founded()
    assert log.do(request_, user_id=1) == Outcome(code)


@pytest.mark.parametrize(
    "operation",
    [
        Operation.CREATE_ROOT,
        Operation.CREATE_USER,
        Operation.UPDATE_USER,
        Operation.DELETE_USER,
        Operation.CHANGE_PASSWORD,
        Operation.UPDATE_PERMISSIONS,
    ],
)
def test_what_has_no_layout_is_refused(operation: Operation) -> None:
    log = founded()
    for body in (b"", b"\x01\x04\x00", b"\x05abcd"):
        assert log.do_bytes(operation, body) == Outcome(ErrorCode.INVALID_COMMAND)


def test_rows_of_users_make_the_same_state_again() -> None:
    log = founded()
    log.do(AddUser("ann", b"hash", status=2))
    log.do(DeleteUser("bob"))
    log.do(ReplaceHash(0, 0, b"another"))
    loaded = Metadata()
    loaded.load(encode_deltas(log.machine.state.rows()), last=True)
    assert loaded.state == log.machine.state
    assert loaded.state.next_user == 3
    assert rows_digest(loaded.state) == rows_digest(log.machine.state)


def granted(*streams: StreamPermissions) -> bytes:
    return Permissions(0, streams).encode()


def permissions_of(log: MetadataLog, user: int) -> tuple[StreamPermissions, ...]:
    return Permissions.decode(row_of(log, user).permissions).streams


def test_no_user_inherits_a_grant_of_a_deleted_stream() -> None:
    log = founded()
    kept = StreamPermissions(1, StreamFlag.READ_STREAM)
    for name in ("first", "second"):
        assert log.do(CreateStream(name)).result == 0
    block = granted(StreamPermissions(0, StreamFlag.MANAGE_STREAM), kept)
    assert log.do(UpdatePermissions("bob", block)).result == 0
    assert permissions_of(log, 0) == ()
    assert log.do(DeleteStream("first")).result == 0
    assert permissions_of(log, 1) == (kept,)
    assert log.machine.state.grantees == {1: frozenset({1})}
    assert log.do(CreateStream("third")).stream == 0
    assert permissions_of(log, 1) == (kept,)


def test_a_grant_for_a_stream_that_does_not_exist_ends_when_it_is_created() -> None:
    log = founded()
    block = granted(StreamPermissions(0, StreamFlag.READ_STREAM))
    assert log.do(UpdatePermissions("bob", block)).result == 0
    assert log.do(CreateStream("first")).stream == 0
    assert permissions_of(log, 1) == ()


def test_no_user_inherits_a_grant_of_a_deleted_topic() -> None:
    log = founded()
    assert log.do(CreateStream("stream")).result == 0
    for name in ("first", "second"):
        assert log.do(CreateTopic("stream", 1, name)).result == 0
    topics = tuple(TopicPermissions(number, TopicFlag.SEND_MESSAGES) for number in (0, 1, 2))
    assert log.do(UpdatePermissions("bob", granted(StreamPermissions(0, 0, topics)))).result == 0
    assert log.do(DeleteTopic("stream", "first")).result == 0
    assert permissions_of(log, 1) == (StreamPermissions(0, 0, topics[1:]),)
    assert log.do(CreateTopic("stream", 1, "third")).topic == 0
    assert log.do(CreateTopic("stream", 1, "fourth")).topic == 2
    assert permissions_of(log, 1) == (StreamPermissions(0, 0, topics[1:2]),)


def test_grants_follow_their_user() -> None:
    log = founded()
    block = granted(
        StreamPermissions(4, StreamFlag.READ_STREAM), StreamPermissions(7, StreamFlag.READ_STREAM)
    )
    assert log.do(UpdatePermissions("bob", block)).result == 0
    assert log.do(AddUser("ann", b"hash", permissions=block)).user == 2
    assert log.machine.state.grantees == {4: frozenset({1, 2}), 7: frozenset({1, 2})}
    assert log.do(UpdatePermissions("bob", None)).result == 0
    assert log.do(DeleteUser("ann")).result == 0
    assert log.machine.state.grantees == {}


def test_an_inactive_user_has_no_rights() -> None:
    log = founded()
    assert log.do(AddUser("ann", b"hash", permissions=ROOT_PERMISSIONS)).user == 2
    assert log.do(CreateStream("first"), user_id=2).result == 0
    assert log.do(UpdateUser("ann", status=UserStatus.INACTIVE)).result == 0
    assert log.do(CreateStream("second"), user_id=2) == Outcome(ErrorCode.UNAUTHORIZED)
    assert log.do(UpdateUser("ann", status=UserStatus.ACTIVE)).result == 0
    assert log.do(CreateStream("second"), user_id=2).result == 0
