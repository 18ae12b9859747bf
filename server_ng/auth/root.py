"""The root user of a founding: from the environment, or with a password that is made and shown once."""

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from server_ng.auth.passwords import hash_password
from server_ng.auth.private_file import write_private

__all__ = ["ROOT_PASSWORD_FILE", "RootUser", "prepare_root"]

ROOT_PASSWORD_FILE = "root-password"  # noqa: S105  a file name
_DEFAULT_USERNAME = "iggy"
# 192 random bits; the text has 32 characters and fits Iggy's bound of 100 bytes.
_PASSWORD_ENTROPY_BYTES = 24


@dataclass(frozen=True, slots=True)
class RootUser:
    """The root user to create, and where its password can be found."""

    username: str
    encoded: bytes = field(repr=False)
    """The password's encoded hash."""
    source: str
    """``environment``, ``terminal``, or the path of the file; fit for a log."""


def prepare_root(given: tuple[str, str] | None, runtime_path: Path, terminal: TextIO) -> RootUser:
    """The root user to create, with the `given` name and password if there are; takes one hash.

    A password that had to be made is written to `terminal` if it is one, and otherwise to a file in
    `runtime_path` that only this user can read. Nothing else ever has it, so that a founding without room for
    the file is an OSError. A file of an earlier founding never outlives it.
    """
    file = runtime_path / ROOT_PASSWORD_FILE
    if given is not None:
        file.unlink(missing_ok=True)
        return _root_user(*given, "environment")
    password = secrets.token_urlsafe(_PASSWORD_ENTROPY_BYTES)
    if not terminal.isatty():
        write_private(file, f"{password}\n")
        return _root_user(_DEFAULT_USERNAME, password, str(file))
    file.unlink(missing_ok=True)
    terminal.write(
        f"The root user is {_DEFAULT_USERNAME} with the password {password}\n"
        "and keeps it until a client changes it. It is not shown again.\n"
    )
    terminal.flush()
    return _root_user(_DEFAULT_USERNAME, password, "terminal")


def _root_user(username: str, password: str, source: str) -> RootUser:
    return RootUser(username, hash_password(password.encode()), source)
