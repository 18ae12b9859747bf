"""Every name of code in the glossary is one that the code declares."""

import re
from pathlib import Path

from tests.tidy.tree import sources

_ROW = re.compile(r"^\| [^|]+ \| [^|]+ \| (?P<code>[^|]+) \|$", re.MULTILINE)
_NAME = re.compile(r"`(\w+)`")


def names(glossary: str) -> list[str]:
    """The names in the column for code, in order."""
    return [name for row in _ROW.finditer(glossary) for name in _NAME.findall(row["code"])]


def test_names_of_the_glossary_are_in_the_code(root: Path) -> None:
    wanted = names((root / "GLOSSARY.md").read_text())
    assert len(wanted) > 50
    words: set[str] = set()
    for source in sources(root, ".rs", ".py"):
        words.update(re.findall(r"\w+", source.text))
    assert [name for name in wanted if name not in words] == []


def test_a_name_is_taken_from_its_column() -> None:
    assert names("| op | The `Number`. | `Op` |\n|---|---|---|\n| a | b |\n") == ["Op"]
