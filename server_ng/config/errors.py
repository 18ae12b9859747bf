"""Errors of a configuration."""

from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import override

__all__ = ["BadValueError", "ConfigError", "ConfigErrors", "Fault", "shown"]

_SHOWN_MAX = 60


class ConfigError(Exception):
    """Base class of all errors of this package."""


class BadValueError(ConfigError, ValueError):
    """One invalid value; also a `ValueError`, because pydantic collects those."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Fault:
    """One error of the configuration."""

    key: str
    """Dotted key, or the name of the variable or file if the error has no key."""
    origin: str
    """Source of the value: ``file PATH``, ``env NAME``, ``--set`` or ``default``."""
    message: str
    hint: str = ""

    @override
    def __str__(self) -> str:
        text = f"{self.key} ({self.origin}): {self.message}"
        return f"{text} {self.hint}" if self.hint else text


class ConfigErrors(ConfigError):  # noqa: N818  the name says that it holds several
    """All errors of one configuration, found in one pass."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))


def shown(raw: object) -> str:
    """`raw` for an error text: quoted, printable and short."""
    text = ascii(raw)
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}..."
