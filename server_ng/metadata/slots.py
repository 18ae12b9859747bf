"""Which numbers of a range are taken; the lowest free one costs the same whatever their count."""

from server_ng.metadata.rows import BadRowsError

__all__ = ["Slots"]

_WORD = 1024
_FULL = (1 << _WORD) - 1


class Slots:
    """The taken numbers below `limit`, as words of bits and one bit for each word that is full."""

    __slots__ = ("_full", "_limit", "_words")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._words: dict[int, int] = {}
        self._full = 0

    def lowest_free(self) -> int | None:
        """The lowest number that is not taken."""
        word = _lowest_zero(self._full)
        slot = word * _WORD + _lowest_zero(self._words.get(word, 0))
        return slot if slot < self._limit else None

    def take(self, slot: int) -> None:
        """Marks a number as taken."""
        if slot >= self._limit:
            raise BadRowsError(f"slot {slot} of {self._limit}")
        word, bit = divmod(slot, _WORD)
        bits = self._words[word] = self._words.get(word, 0) | 1 << bit
        if bits == _FULL:
            self._full |= 1 << word

    def free(self, slot: int) -> None:
        """Marks a number as free."""
        word, bit = divmod(slot, _WORD)
        bits = self._words.pop(word, 0) & ~(1 << bit)
        if bits:
            self._words[word] = bits
        self._full &= ~(1 << word)


def _lowest_zero(bits: int) -> int:
    return (~bits & (bits + 1)).bit_length() - 1
