"""Ops on users. Passwords were hashed before the log: an op holds hashes only."""

from collections.abc import Sequence
from typing import Final

from server_ng.metadata.admission import authorize
from server_ng.metadata.deltas import Delete, Put
from server_ng.metadata.ops import Op, Outcome
from server_ng.metadata.rights import ALL_PERMISSIONS, NODE, Target
from server_ng.metadata.rows import NEXT_USER_KEY, UserRow, encode_next_user, user_key
from server_ng.metadata.state import FIRST_USER, State
from server_ng.wire.credentials import USERNAME_BYTES
from server_ng.wire.identifiers import Identifier
from server_ng.wire.options import Option
from server_ng.wire.permissions import Permissions
from server_ng.wire.refusals import RefusedError
from server_ng.wire.tables import USERS_MAX, ErrorCode, ReplyKind, UserStatus
from server_ng.wire.user_requests import (
    AddUser,
    CreateRoot,
    DeleteUser,
    ReplaceHash,
    UpdatePermissions,
    UpdateUser,
)

__all__ = [
    "ROOT_PERMISSIONS",
    "create_root",
    "create_user",
    "delete_user",
    "replace_hash",
    "update_permissions",
    "update_user",
]

ROOT_PERMISSIONS: Final = ALL_PERMISSIONS.encode()
"""Every global flag and no streams: what replies show, for root may do everything by its number."""

_NO_PERMISSIONS: Final = b""


def create_root(state: State, op: Op) -> Outcome:
    """The root user, unless there are users."""
    request = CreateRoot.decode(op.body)
    if state.users:
        raise RefusedError(ErrorCode.USER_ALREADY_EXISTS, "there are users")
    return _added(FIRST_USER, _new_row(op, request.username, request.password_hash, ROOT_PERMISSIONS))


def create_user(state: State, op: Op) -> Outcome:
    """A new user under a number that none ever had."""
    request = AddUser.decode(op.body)
    _check_length(request.username)
    permissions = _checked(request.permissions)
    _refuse_options(request.options)
    authorize(state, op, NODE)
    _check_name(state, request.username)
    if len(state.users) >= USERS_MAX:
        raise RefusedError(ErrorCode.USERS_LIMIT_REACHED, f"there are {USERS_MAX} users")
    row = _new_row(op, request.username, request.password_hash, permissions)
    status = _status(request.status)
    return _added(state.next_user, row if status is None else row._replace(status=status))


def update_user(state: State, op: Op) -> Outcome:
    """Another name, another status, or neither."""
    request = UpdateUser.decode(op.body)
    if request.username is not None:
        _check_length(request.username)
    _refuse_options(request.options)
    user = user_of(state, request.user)
    authorize(state, op, Target(user=user))
    row = state.users[user]
    if request.username is not None:
        _check_name(state, request.username, user)
        row = row._replace(name=request.username)
    status = None if request.status is None else _status(request.status)
    if status is not None:
        row = row._replace(status=status)
    return _changed(state, user, row)


def delete_user(state: State, op: Op) -> Outcome:
    """No such user any more, and nothing of what is the user's."""
    user = user_of(state, DeleteUser.decode(op.body).user)
    authorize(state, op, Target(user=user))
    if user == FIRST_USER:
        raise RefusedError(ErrorCode.CANNOT_DELETE_USER, "root is not deleted")
    return Outcome(deltas=(Delete(user_key(user)),))


def update_permissions(state: State, op: Op) -> Outcome:
    """Other permissions in the place of all that a user has."""
    request = UpdatePermissions.decode(op.body)
    permissions = _checked(request.permissions)
    user = user_of(state, request.user)
    authorize(state, op, Target(user=user))
    if user == FIRST_USER:
        raise RefusedError(ErrorCode.CANNOT_CHANGE_PERMISSIONS, "root may do everything")
    return _changed(state, user, state.users[user]._replace(permissions=permissions))


def replace_hash(state: State, op: Op) -> Outcome:
    """Another password, unless that which was verified is not the user's any more."""
    request = ReplaceHash.decode(op.body)
    user = user_of(state, request.user)
    authorize(state, op, Target(user=user))
    row = state.users[user]
    if row.hash_epoch != request.hash_epoch:
        raise RefusedError(ErrorCode.INVALID_CREDENTIALS, f"the password of user {user} was changed")
    row = row._replace(password_hash=request.password_hash, hash_epoch=row.hash_epoch + 1)
    return Outcome(user=user, deltas=(Put(user_key(user), row.encode()),))


def user_of(state: State, identifier: Identifier) -> int:
    """The number of the user who is called this."""
    user = state.find_user(identifier)
    if user is None:
        raise RefusedError(ErrorCode.RESOURCE_NOT_FOUND, f"no user {identifier!r}")
    return user


def _new_row(op: Op, name: str, password_hash: bytes, permissions: bytes) -> UserRow:
    return UserRow(
        created_at=op.timestamp,
        status=UserStatus.ACTIVE,
        name=name,
        password_hash=password_hash,
        hash_epoch=0,
        permissions=permissions,
        options=b"",
    )


def _added(user: int, row: UserRow) -> Outcome:
    deltas = (Put(NEXT_USER_KEY, encode_next_user(user + 1)), Put(user_key(user), row.encode()))
    return Outcome(reply=ReplyKind.USER, user=user, deltas=deltas)


def _changed(state: State, user: int, row: UserRow) -> Outcome:
    if row == state.users[user]:
        return Outcome()
    return Outcome(deltas=(Put(user_key(user), row.encode()),))


def _status(code: int) -> UserStatus | None:
    """The status with this code; none for a code without a meaning, which changes nothing."""
    try:
        return UserStatus(code)
    except ValueError:
        return None


def _checked(permissions: bytes | None) -> bytes:
    if permissions is None:
        return _NO_PERMISSIONS
    Permissions.decode(permissions)
    return permissions


def _refuse_options(options: Sequence[Option]) -> None:
    if options:
        raise RefusedError(ErrorCode.UNSUPPORTED_OPTION_KEY, "users have no options")


def _check_length(name: str) -> None:
    if len(name.encode()) not in USERNAME_BYTES:
        raise RefusedError(ErrorCode.INVALID_USERNAME, f"a user name of {len(name.encode())} bytes")


def _check_name(state: State, name: str, renamed: int | None = None) -> None:
    bearer = state.user_ids.get(name)
    if bearer is not None and bearer != renamed:
        raise RefusedError(ErrorCode.USER_ALREADY_EXISTS, f"user {bearer} is called {name!r}")
