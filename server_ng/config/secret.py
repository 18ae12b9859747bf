"""Text that must never be shown."""

from typing_extensions import override

__all__ = ["Secret"]


class Secret:
    """A secret text; only `reveal` gives it away, so that no log, repr or error text ever holds it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself, for the one place that needs it."""
        return self._text

    @override
    def __repr__(self) -> str:
        return "Secret(***)"

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    @override
    def __hash__(self) -> int:
        return hash(self._text)

    @override
    def __reduce__(self) -> str:
        raise TypeError("a secret is not written anywhere")
