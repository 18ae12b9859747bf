"""The users who can log in: only root, until the metadata log keeps others."""

from dataclasses import dataclass

__all__ = ["PASSWORD_BYTES", "ROOT_USER_ID", "USERNAME_BYTES", "Account", "Accounts"]

ROOT_USER_ID = 0
# Iggy's bounds; a longer or shorter text is refused before anything is looked up or hashed.
USERNAME_BYTES = range(3, 51)
PASSWORD_BYTES = range(3, 101)


@dataclass(frozen=True, slots=True)
class Account:
    """One user."""

    user_id: int
    username: str
    encoded: bytes
    """The password's encoded hash."""
    active: bool = True

    def __repr__(self) -> str:
        return f"Account(user_id={self.user_id}, username={self.username!r}, active={self.active})"


class Accounts:
    """Users by name, in memory."""

    def __init__(self, *accounts: Account) -> None:
        self._by_name = {account.username: account for account in accounts}

    def find(self, username: str) -> Account | None:
        """The user with exactly this name."""
        return self._by_name.get(username)
