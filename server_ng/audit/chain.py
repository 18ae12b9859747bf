"""The lines of an audit file: JSON, numbered, each with a digest of itself and of all lines before it.

The digest of a line is BLAKE2b-256 over the digest of the line before, as bytes, and over the line without
its last field, ``chain``. The first line of a file is `OPENED`, and names the digest that it continues from.
"""

import json
import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Final, NamedTuple, TypeAlias

__all__ = ["FIRST", "OPENED", "BadLineError", "Fields", "Link", "append", "read"]

OPENED: Final = "audit_opened"
"""The event of the first line of a file, and of every later start that went on with it."""
PREVIOUS: Final = "previous"
"""The field of that line with the digest that it continues from."""

Fields: TypeAlias = Mapping[str, str | int | None]

_DIGEST_BYTES: Final = 32
_LINE: Final = re.compile(rb'(?P<fields>\{"number":(?P<number>\d+),.+),"chain":"(?P<chain>[0-9a-f]{64})"\}')


class Link(NamedTuple):
    """A line that another one follows: its number and its digest."""

    number: int
    digest: bytes


FIRST: Final = Link(0, bytes(_DIGEST_BYTES))
"""Before the first line of all."""


class BadLineError(ValueError):
    """Bytes that are no line of an audit file."""


def append(before: Link, number: int, fields: Fields) -> tuple[bytes, Link]:
    """The line with a number and fields, with its line feed, and the link that it makes."""
    text = json.dumps({"number": number, **fields}, separators=(",", ":")).encode()
    digest = _digest(before.digest, text)
    return text[:-1] + b',"chain":"' + digest.hex().encode() + b'"}\n', Link(number, digest)


def read(line: bytes, before: Link | None) -> tuple[Link, dict[str, str | int | None], bool]:
    """The link and the fields of a line, and whether its digest follows from the one before.

    The first line of a file says itself what it continues from, so nothing is before it.
    """
    found = _LINE.fullmatch(line)
    if found is None:
        raise BadLineError
    text = found["fields"] + b"}"
    try:
        fields: dict[str, str | int | None] = json.loads(text)
        digest = bytes.fromhex(str(fields[PREVIOUS])) if before is None else before.digest
    except (ValueError, KeyError, RecursionError) as error:
        raise BadLineError from error
    chain = bytes.fromhex(found["chain"].decode())
    return Link(int(found["number"]), chain), fields, chain == _digest(digest, text)


def _digest(before: bytes, text: bytes) -> bytes:
    return blake2b(before + text, digest_size=_DIGEST_BYTES).digest()
