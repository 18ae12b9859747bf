"""The root user: from the environment, or with a password made at each start and shown once."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from server_ng.auth.accounts import ROOT_USER_ID, Account
from server_ng.auth.passwords import hash_password
from server_ng.auth.private_file import write_private

__all__ = ["ROOT_PASSWORD_FILE", "RootUser", "prepare_root"]

ROOT_PASSWORD_FILE = "root-password"  # noqa: S105  a file name
_DEFAULT_USERNAME = "iggy"
# 192 random bits; the text has 32 characters and fits Iggy's bound of 100 bytes.
_PASSWORD_ENTROPY_BYTES = 24


@dataclass(frozen=True, slots=True)
class RootUser:
    """The root account, and where its password can be found."""

    account: Account
    source: str
    """``environment``, ``terminal``, or the path of the file; fit for a log."""


def prepare_root(
    given: tuple[str, str] | None,
    runtime_path: Path,
    terminal: TextIO,
    write: Callable[[Path, str], None] = write_private,
) -> RootUser:
    """The root user of this start, with the `given` name and password if there are; takes one hash.

    A password that had to be made is written to `terminal` if it is one, and otherwise to a file in
    `runtime_path` that only this user can read, by `write`. A file of an earlier start never outlives it.
    """
    file = runtime_path / ROOT_PASSWORD_FILE
    if given is not None:
        file.unlink(missing_ok=True)
        return RootUser(_account(*given), "environment")
    password = secrets.token_urlsafe(_PASSWORD_ENTROPY_BYTES)
    if not terminal.isatty():
        write(file, f"{password}\n")
        return RootUser(_account(_DEFAULT_USERNAME, password), str(file))
    file.unlink(missing_ok=True)
    terminal.write(
        f"The root user is {_DEFAULT_USERNAME} with the password {password}\n"
        "until the server stops. Set IGGY_ROOT_USERNAME and IGGY_ROOT_PASSWORD to choose your own.\n"
    )
    terminal.flush()
    return RootUser(_account(_DEFAULT_USERNAME, password), "terminal")


def _account(username: str, password: str) -> Account:
    return Account(ROOT_USER_ID, username, hash_password(password.encode()))
