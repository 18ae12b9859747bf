"""Advice for an address that cannot be bound, by the error of the system."""

from typing import Final

__all__ = ["bind_advice"]

_ADVICE: Final = {
    "EADDRINUSE": "Stop the process that listens there, or choose another {key}.",
    "EADDRNOTAVAIL": "This machine has no such address: set {key} to one that `ip address` lists.",
    "EACCES": (
        "Ports below 1024 need the capability CAP_NET_BIND_SERVICE: grant it, or set {key} to a higher port."
    ),
}


def bind_advice(reason: str, key: str) -> str:
    """A sentence for the setting `key`, or an empty text; `reason` contains the symbol of the error."""
    return next((advice.format(key=key) for symbol, advice in _ADVICE.items() if symbol in reason), "")
