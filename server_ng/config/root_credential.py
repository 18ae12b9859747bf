"""The root user's name and password as the operator may give them, apart from the settings."""

from collections.abc import Mapping
from dataclasses import dataclass

from server_ng.config.errors import Fault
from server_ng.config.secret import Secret
from server_ng.wire.credentials import PASSWORD_BYTES, USERNAME_BYTES

__all__ = [
    "ROOT_VARIABLES",
    "RootCredential",
    "is_default_root",
    "read_root_credential",
    "with_default_root",
]

_NAME = "IGGY_ROOT_USERNAME"
_PASSWORD = "IGGY_ROOT_PASSWORD"  # noqa: S105  the name of the variable, not a password
ROOT_VARIABLES = frozenset({_NAME, _PASSWORD})
_DEFAULT = "iggy"


@dataclass(frozen=True, slots=True)
class RootCredential:
    """A name and a password that fit Iggy's bounds."""

    username: str
    password: Secret


def read_root_credential(environment: Mapping[str, str]) -> tuple[RootCredential | None, list[Fault]]:
    """The credential in the environment, if it is there, and what is wrong with it. No text holds a value."""
    username, password = environment.get(_NAME, ""), environment.get(_PASSWORD, "")
    if not username and not password:
        return None, []
    faults = []
    for name, value, bounds in ((_NAME, username, USERNAME_BYTES), (_PASSWORD, password, PASSWORD_BYTES)):
        if not value:
            other = _PASSWORD if name == _NAME else _NAME
            faults.append(
                Fault(name, f"env {name}", f"{other} is set and {name} is not.", "Set both or neither.")
            )
        elif not _fits(value, bounds):
            message = f"the value is not UTF-8 text of {bounds.start} to {bounds.stop - 1} bytes."
            faults.append(Fault(name, f"env {name}", message))
    return (None, faults) if faults else (RootCredential(username, Secret(password)), [])


def with_default_root(environment: Mapping[str, str]) -> Mapping[str, str]:
    """The environment with Iggy's well-known name and password in the place of those that are not set."""
    given = {name: environment.get(name) or _DEFAULT for name in ROOT_VARIABLES}
    return {**environment, **given}


def is_default_root(root: RootCredential | None) -> bool:
    """Whether the password is the well-known one, whoever chose it."""
    return root is not None and root.password.reveal() == _DEFAULT


def _fits(value: str, bounds: range) -> bool:
    try:
        return len(value.encode()) in bounds
    except UnicodeEncodeError:
        return False
