"""The users as logins see them: a view of the metadata, in which nothing is kept."""

from collections.abc import Callable
from dataclasses import dataclass

from typing_extensions import override

from server_ng.metadata.state import FIRST_USER, State
from server_ng.wire.tables import UserStatus

__all__ = ["ROOT_USER_ID", "Account", "Accounts"]

ROOT_USER_ID = FIRST_USER


@dataclass(frozen=True, slots=True)
class Account:
    """One user."""

    user_id: int
    username: str
    encoded: bytes
    """The password's encoded hash."""
    active: bool = True

    @override
    def __repr__(self) -> str:
        return f"Account(user_id={self.user_id}, username={self.username!r}, active={self.active})"


class Accounts:
    """Users by name, as the rows have them at the moment of the call."""

    def __init__(self, state: Callable[[], State]) -> None:
        self._state = state

    def find(self, username: str) -> Account | None:
        """The user with exactly this name."""
        state = self._state()
        user_id = state.user_ids.get(username)
        if user_id is None:
            return None
        row = state.users[user_id]
        return Account(user_id, username, row.password_hash, row.status == UserStatus.ACTIVE)
