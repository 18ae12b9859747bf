"""The rule of keys as the user gives it."""

from server_ng.segments.keys import is_key_rule
from server_ng.spark.errors import OptionError

__all__ = ["key_rule"]


def key_rule(text: str) -> str:
    """The same; raises `OptionError` for what is none."""
    if not is_key_rule(text):
        raise OptionError(f"key: {text!r} is none of none, id, header:NAME and json:/PATH")
    return text
