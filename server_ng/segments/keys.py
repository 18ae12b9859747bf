"""Where the key of a message is: a rule in words, as the native library reads it."""

from typing import Final

from server_ng import binding

__all__ = ["DEFAULT_KEY", "is_key_rule"]

DEFAULT_KEY: Final = "header:key"
_ONE_ROW: Final = (0, 0, 0, 0, 0, 1, 0, 0, 0, 0)


def is_key_rule(text: str) -> bool:
    """Whether it is one of `none`, `id`, `header:NAME`, `json:/PATH`."""
    try:
        binding.decode_columns(b"", _ONE_ROW, text.encode(), None)
    except binding.InvalidError:
        return False
    return True
