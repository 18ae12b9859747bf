"""What is in force in both shapes of Iggy's own file, for programs that look there for the ports."""

from collections.abc import Mapping
from typing import Final

from server_ng.config.cpu_allocation import AutoCpus
from server_ng.config.iggy_keys import IGGY_KEYS, IGGY_SECRETS, Fate, IggyValue
from server_ng.config.iggy_moved import moved_keys
from server_ng.config.leaf import TEXT
from server_ng.config.model import Settings, leaves, value_of

__all__ = ["iggy_shape"]

_TRANSPORTS: Final = ("tcp", "http", "quic", "websocket")


def iggy_shape(settings: Settings, bound: Mapping[str, str], shards: int) -> str:
    """A TOML document with every key of Iggy but its secrets.

    A key that has no effect has the value that Iggy gives it, whatever was asked for. `bound` is the real
    address of each transport that is served; the others are shown as switched off.
    """
    values = {
        key: _literal(entry.value)
        for key, entry in IGGY_KEYS.items()
        if entry.fate is not Fate.REFUSED and entry.value is not None and key not in IGGY_SECRETS
    }
    for key, leaf in leaves().items():
        if leaf.iggy:
            values[key] = leaf.kind.show(value_of(settings, key))
    for transport in _TRANSPORTS:
        values[f"{transport}.enabled"] = _literal(transport in bound)
        if transport in bound:
            values[f"{transport}.address"] = _literal(bound[transport])
    if isinstance(settings.system.sharding.cpu_allocation, AutoCpus):
        # A word of ours: Iggy's readers take a count.
        values["system.sharding.cpu_allocation"] = _literal(shards)
    # A reader of either release finds its shape, and passes over the other.
    return _document(values | {new: values[key] for new, key in moved_keys().items() if key in values})


def _literal(value: IggyValue) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(TEXT.show(word) for word in value)}]"
    return str(value) if isinstance(value, int) else TEXT.show(value)


def _document(values: Mapping[str, str]) -> str:
    tables: dict[str, list[str]] = {}
    for key, literal in values.items():
        table, _, name = key.rpartition(".")
        tables.setdefault(table, []).append(f"{name} = {literal}\n")
    headed = ((f"[{table}]\n" if table else "", lines) for table, lines in sorted(tables.items()))
    return "\n".join(f"{head}{''.join(lines)}" for head, lines in headed)
