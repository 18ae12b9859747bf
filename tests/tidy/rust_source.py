"""Just enough of Rust's syntax to judge a source: where its comments, strings and functions are."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

# In this order: what begins like something shorter comes before it. A lifetime ('a) is not a character ('a').
_OPAQUE = re.compile(
    r"""
    (?P<line>//[^\n]*)
  | (?P<block>/\*)
  | (?P<raw>\b[bc]?r(?P<hashes>\#*)"(?:.*?)"(?P=hashes))
  | (?P<string>\b[bc]?"(?:\\.|[^"\\])*"|"(?:\\.|[^"\\])*")
  | (?P<char>b?'(?:\\(?:x[0-9a-fA-F]{2}|u\{[0-9a-fA-F_]+\}|.)|[^'\\\n])')
    """,
    re.VERBOSE | re.DOTALL,
)
_BLOCK_EDGE = re.compile(r"/\*|\*/")
_FUNCTION = re.compile(r"\bfn\s+(?P<name>[A-Za-z_]\w*)")


@dataclass(frozen=True, slots=True)
class Function:
    """A function with a body: its name, its first line (from 1) and how many lines it has."""

    name: str
    line: int
    length: int


def blank(text: str) -> str:
    """The same text with every comment, string and character made spaces; lines stay where they are."""
    pieces: list[str] = []
    at = 0
    while found := _OPAQUE.search(text, at):
        end = _block_end(text, found.start()) if found["block"] else found.end()
        pieces.append(text[at : found.start()])
        pieces.append(re.sub(r"[^\n]", " ", text[found.start() : end]))
        at = end
    pieces.append(text[at:])
    return "".join(pieces)


def functions(text: str) -> Iterator[Function]:
    """Every function that has a body, nested ones too."""
    code = blank(text)
    for found in _FUNCTION.finditer(code):
        opening = _body_start(code, found.end())
        if opening is None:
            continue
        closing = _closing_brace(code, opening)
        yield Function(
            name=found["name"],
            line=code.count("\n", 0, found.start()) + 1,
            length=code.count("\n", found.start(), closing) + 1,
        )


def _block_end(text: str, start: int) -> int:
    """Where a block comment ends; they nest."""
    depth = 0
    for edge in _BLOCK_EDGE.finditer(text, start):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    return len(text)


def _body_start(code: str, at: int) -> int | None:
    """The brace that opens a body; none for a declaration, which ends in a semicolon."""
    depth = 0
    for index in range(at, len(code)):
        match code[index]:
            case "(" | "[":
                depth += 1
            case ")" | "]":
                depth -= 1
            case "{" if depth == 0:
                return index
            case ";" if depth == 0:
                return None
    return None


def _closing_brace(code: str, opening: int) -> int:
    depth = 0
    for index in range(opening, len(code)):
        if code[index] == "{":
            depth += 1
        elif code[index] == "}":
            depth -= 1
            if depth == 0:
                return index
    return len(code)
