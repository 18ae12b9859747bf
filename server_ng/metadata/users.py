"""Ops on users."""

from typing import Final

from server_ng.metadata.deltas import Put
from server_ng.metadata.ops import Op, Outcome
from server_ng.metadata.rows import NEXT_USER_KEY, UserRow, encode_next_user, user_key
from server_ng.metadata.state import FIRST_USER, State
from server_ng.wire.refusals import RefusedError
from server_ng.wire.requests import CreateRoot
from server_ng.wire.tables import ErrorCode, UserStatus

__all__ = ["ROOT_PERMISSIONS", "create_root"]

ROOT_PERMISSIONS: Final = bytes([*(10 * (1,)), 0])
"""Every global flag and no streams: what replies show, for root may do everything by its number."""


def create_root(state: State, op: Op) -> Outcome:
    """The root user, unless there are users."""
    request = CreateRoot.decode(op.body)
    if state.users:
        raise RefusedError(ErrorCode.USER_ALREADY_EXISTS, "there are users")
    row = UserRow(
        created_at=op.timestamp,
        status=UserStatus.ACTIVE,
        name=request.username,
        password_hash=request.password_hash,
        hash_epoch=0,
        permissions=ROOT_PERMISSIONS,
        options=b"",
    )
    deltas = (Put(NEXT_USER_KEY, encode_next_user(FIRST_USER + 1)), Put(user_key(FIRST_USER), row.encode()))
    return Outcome(deltas=deltas)
