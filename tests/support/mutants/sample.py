"""A sample of mutants drawn from a seed, so that an edit of the source changes few of its members."""

from collections.abc import Iterable
from hashlib import sha256

from tests.support.mutants.mutant import Mutant

__all__ = ["draw"]


def draw(mutants: Iterable[Mutant], seed: int, size: int) -> list[Mutant]:
    """Each mutant draws a number from the seed and its name; those with the lowest are in, in their order."""
    listed = list(mutants)
    chosen = set(sorted(listed, key=lambda each: _number(each, seed))[:size])
    return [each for each in listed if each in chosen]


def _number(mutant: Mutant, seed: int) -> bytes:
    return sha256(f"{seed} {mutant.file} {mutant.name}".encode()).digest()
