"""A name says what a thing is: words that fit anything are not names."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tests.tidy.tree import paths

BANNED = frozenset(
    {"common", "helper", "helpers", "impl", "manager", "managers", "misc", "util", "utils", "utilities"}
)


def banned_words(path: PurePosixPath) -> Iterator[str]:
    """The banned words among the words of a path."""
    for part in path.parts:
        yield from (word for word in re.split(r"[^a-z0-9]+", part.lower()) if word in BANNED)


def test_no_path_bears_a_banned_word(root: Path) -> None:
    assert {str(path): words for path in paths(root) if (words := list(banned_words(path)))} == {}


def test_planted_name_is_found() -> None:
    assert list(banned_words(PurePosixPath("native/io/src/ring_utils.rs"))) == ["utils"]
    assert list(banned_words(PurePosixPath("server_ng/helpers/clock.py"))) == ["helpers"]
    assert list(banned_words(PurePosixPath("native/shard/src/simple.rs"))) == []
