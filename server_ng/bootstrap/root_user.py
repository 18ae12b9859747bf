"""The root user: created while there are no users, and compared with the environment afterwards."""

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import structlog
from argon2.exceptions import Argon2Error

from server_ng.auth import ROOT_PASSWORD_FILE, ROOT_USER_ID, Hasher, HashesBusyError, prepare_root
from server_ng.bootstrap.control_plane import ControlPlane
from server_ng.bootstrap.data_directory import DataDirectory
from server_ng.bootstrap.errors import StartError
from server_ng.config.root_credential import RootCredential
from server_ng.engine.records import encode_proposal
from server_ng.wire.tables import Operation
from server_ng.wire.user_requests import CreateRoot

__all__ = ["RootFounding"]

_log = structlog.get_logger()

# The log refuses an operation while it is full or has no view; creating root twice is refused by the rows.
_ASK_AGAIN_SECONDS: Final = 1.0


class RootFounding:
    """Sees to it that there is a root user before clients may connect."""

    def __init__(
        self,
        given: RootCredential | None,
        directory: DataDirectory,
        control_plane: ControlPlane,
        hasher: Hasher,
        send: Callable[[bytes], None],
    ) -> None:
        self._given = given
        self._file = directory.runtime_path / ROOT_PASSWORD_FILE
        self._control_plane = control_plane
        self._hasher = hasher
        self._send = send
        self._was_stored = False

    async def found(self) -> None:
        """Creates the root user if there are no users; raises `StartError`."""
        users = self._control_plane.state.users
        if users:
            self._was_stored = True
            _log.info("root_user", username=users[ROOT_USER_ID].name, password_source="stored")  # noqa: S106
            return
        given = (self._given.username, self._given.password.reveal()) if self._given else None
        try:
            root = prepare_root(given, self._file.parent, sys.stderr)
        except OSError as error:
            raise StartError(
                f"The password of the root user cannot be written to {self._file.parent}: {error.strerror}. "
                "Make room there, or give one with IGGY_ROOT_USERNAME and IGGY_ROOT_PASSWORD."
            ) from error
        proposal = encode_proposal(Operation.CREATE_ROOT, CreateRoot(root.username, root.encoded).encode())
        while not self._control_plane.has_users.is_set():
            self._send(proposal)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._control_plane.has_users.wait(), _ASK_AGAIN_SECONDS)
        _log.info("root_user", username=root.username, password_source=root.source)

    async def review(self) -> None:
        """Says if the environment names another root user than the stored one, whose credentials count."""
        if self._given is None or not self._was_stored:
            return
        stored = self._control_plane.state.users[ROOT_USER_ID]
        password = self._given.password.reveal().encode()
        if self._given.username == stored.name and await self._is_password(password, stored.password_hash):
            return
        _log.warning(
            "root_credential_ignored",
            username=stored.name,
            message="The stored root user counts, and not IGGY_ROOT_USERNAME and IGGY_ROOT_PASSWORD, "
            "which name the root user of a new data directory only.",
        )

    async def _is_password(self, password: bytes, encoded: bytes) -> bool:
        try:
            return await self._hasher.matches(encoded, password)
        except (Argon2Error, HashesBusyError):
            # Nobody can tell now, and a warning may be wrong.
            return True

    async def forget_made_password(self) -> None:
        """Deletes the file with a made password as soon as another password counts."""
        await self._control_plane.root_password_changed.wait()
        try:
            self._file.unlink(missing_ok=True)
        except OSError as error:
            _log.warning("root_password_file_left", path=str(self._file), reason=error.strerror)
