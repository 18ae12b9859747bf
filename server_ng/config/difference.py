"""The difference between two readings of the configuration, for SIGHUP."""

from dataclasses import dataclass

from server_ng.config.model import Settings, leaves, value_of

__all__ = ["Change", "differences"]


@dataclass(frozen=True, slots=True)
class Change:
    """One key with another value than before."""

    key: str
    before: str
    after: str
    reloadable: bool
    """Whether the running server takes the new value; otherwise it waits for a restart."""


def differences(before: Settings, after: Settings) -> tuple[Change, ...]:
    """Every key that differs, in the order of the model."""
    return tuple(
        Change(key, leaf.kind.show(old), leaf.kind.show(new), leaf.reloadable)
        for key, leaf in leaves().items()
        if (old := value_of(before, key)) != (new := value_of(after, key))
    )
