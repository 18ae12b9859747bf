"""How the value of an option is read from what a client sent, and how it is kept."""

from collections.abc import Callable, Container
from typing import TypeAlias

from server_ng.wire.options import Option, ValueKind

__all__ = ["Read", "Value", "encode_value", "flag", "quantity", "word"]

Value: TypeAlias = int | str
"""Text, a number, or a flag as 0 or 1."""
Read: TypeAlias = Callable[[Option], Value | None]
"""The value of an option, or none for one it cannot have."""

_NUMBER_BYTES = {ValueKind.BOOL: 1, ValueKind.U32: 4, ValueKind.U64: 8}
_FLAGS = {"false": 0, "true": 1}


def encode_value(key: str, kind: ValueKind, value: Value) -> Option:
    """The option with this value, of the kind it is kept in."""
    if isinstance(value, str):
        return Option(key, kind, value.encode())
    return Option(key, kind, value.to_bytes(_NUMBER_BYTES[kind], "little"))


def word(words: Container[str]) -> Read:
    """Reads one of some words."""

    def read(option: Option) -> Value | None:
        text = _text(option)
        return text if text is not None and text in words else None

    return read


def quantity(
    kind: ValueKind, parse: Callable[[str], int | None], allowed: range, *, or_zero: bool = False
) -> Read:
    """Reads a number of this kind, or the text that `parse` understands."""

    def read(option: Option) -> Value | None:
        text = _text(option)
        value: int | None = None
        if text is not None:
            value = parse(text)
        elif option.kind == kind and len(option.data) == _NUMBER_BYTES[kind]:
            value = int.from_bytes(option.data, "little")
        if value is None or (value == 0 and or_zero):
            return value
        return value if value in allowed else None

    return read


def flag(option: Option) -> Value | None:
    """Reads yes or no."""
    text = _text(option)
    if text is not None:
        return _FLAGS.get(text)
    if option.kind == ValueKind.BOOL and option.data in (b"\x00", b"\x01"):
        return option.data[0]
    return None


def _text(option: Option) -> str | None:
    if option.kind != ValueKind.TEXT:
        return None
    try:
        return option.data.decode()
    except UnicodeDecodeError:
        return None
