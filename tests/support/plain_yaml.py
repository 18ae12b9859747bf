"""The part of YAML that our own files keep to: mappings and lists in blocks, texts, comments.

Whatever goes beyond that is an error, so that a file cannot mean something else to Prometheus.
"""

import json
import re
from typing import TypeAlias

__all__ = ["PlainYaml", "PlainYamlError", "parse"]

PlainYaml: TypeAlias = "str | list[PlainYaml] | dict[str, PlainYaml]"

_ENTRY = re.compile(r"([A-Za-z_][A-Za-z0-9_]*):(?: (.+))?")
# What a plain text may not begin with, and what would end or turn it.
_NOT_PLAIN = re.compile(r"""^[\s"'\[\]{}&*!|>%@`#,?:-]|: |:$| #|\s$""")


class PlainYamlError(Exception):
    """It is not YAML, or more than we use of it."""


def parse(text: str) -> PlainYaml:
    """The document."""
    lines = [
        (len(line) - len(line.lstrip(" ")), line.strip(" "))
        for line in text.splitlines()
        if line.strip() and not line.lstrip(" ").startswith("#")
    ]
    if any("\t" in line for _, line in lines):
        raise PlainYamlError("a tab")
    value, rest = _block(lines, 0)
    if rest:
        raise PlainYamlError(f"unexpected indentation: {rest[0][1]}")
    return value


_Lines: TypeAlias = list[tuple[int, str]]


def _block(lines: _Lines, indent: int) -> tuple[PlainYaml, _Lines]:
    """The mapping or list whose first line this is, and the lines behind it."""
    if not lines or lines[0][0] < indent:
        raise PlainYamlError("something is expected and not there")
    return _list(lines) if lines[0][1].startswith("- ") else _mapping(lines)


def _list(lines: _Lines) -> tuple[PlainYaml, _Lines]:
    indent, items = lines[0][0], list[PlainYaml]()
    while lines and lines[0][0] == indent and lines[0][1].startswith("- "):
        first = lines[0][1][2:]
        if _ENTRY.fullmatch(first):
            item, lines = _mapping([(indent + 2, first), *lines[1:]])
        else:
            item, lines = _text(first), lines[1:]
        items.append(item)
    return items, lines


def _mapping(lines: _Lines) -> tuple[PlainYaml, _Lines]:
    indent, entries = lines[0][0], dict[str, PlainYaml]()
    while lines and lines[0][0] == indent and not lines[0][1].startswith("- "):
        entry = _ENTRY.fullmatch(lines[0][1])
        if entry is None or entry[1] in entries:
            raise PlainYamlError(f"no entry, or a second one: {lines[0][1]}")
        lines = lines[1:]
        if entry[2] is None:
            entries[entry[1]], lines = _block(lines, indent + 1)
        else:
            entries[entry[1]] = _text(entry[2])
    return entries, lines


def _text(written: str) -> str:
    if written.startswith('"'):
        try:
            return str(json.loads(written))
        except ValueError:
            raise PlainYamlError(f"not a quoted text: {written}") from None
    if _NOT_PLAIN.search(written):
        raise PlainYamlError(f"not a plain text: {written}")
    return written
