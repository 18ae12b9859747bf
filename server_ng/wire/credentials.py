"""How long names and passwords of users may be, in bytes of UTF-8."""

from typing import Final

from server_ng.wire.tables import (
    PASSWORD_BYTES_MAX,
    PASSWORD_BYTES_MIN,
    USERNAME_BYTES_MAX,
    USERNAME_BYTES_MIN,
)

__all__ = ["PASSWORD_BYTES", "USERNAME_BYTES"]

USERNAME_BYTES: Final = range(USERNAME_BYTES_MIN, USERNAME_BYTES_MAX + 1)
PASSWORD_BYTES: Final = range(PASSWORD_BYTES_MIN, PASSWORD_BYTES_MAX + 1)
