"""One fault of one file: drawn from a seed, and done to a copy of a template."""

import os
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from xxhash import xxh3_128_intdigest

from tests.support.damage.file_kind import FileKind, find_files
from tests.support.damage.template import Template

__all__ = ["Fault", "FaultKind", "draw_fault", "is_possible"]

_PAGE: Final = 4096


class FaultKind(StrEnum):
    """What happens to a file."""

    FLIP = "flip"
    ZERO = "zero"
    TRUNCATE = "truncate"
    REMOVE = "remove"
    EXTEND = "extend"
    SWAP = "swap"
    DUPLICATE = "duplicate"
    OLDER = "older"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a file, with everything that decides its bytes."""

    kind: FaultKind
    file_kind: FileKind
    path: Path
    """Relative to the data directory."""
    other: Path | None
    """The file to swap with, relative to the data directory, or the file to put in its place."""
    seed: str

    def __str__(self) -> str:
        return f"{self.kind} {self.path}" + (f" ({self.other})" if self.other else "")

    def damage(self, data: Path) -> tuple[Path, ...]:
        """Damages a data directory; the relative paths of the damaged files, all names of each."""
        touched = [self.path, self.other] if self.kind is FaultKind.SWAP and self.other else [self.path]
        if self.kind in _IN_PLACE:
            touched = _names_of(data, self.path)
            _IN_PLACE[self.kind](data / self.path, random.Random(self.seed))
        elif self.kind is FaultKind.REMOVE:
            (data / self.path).unlink()
        elif self.kind is FaultKind.SWAP:
            assert self.other is not None
            _swap(data / self.path, data / self.other)
        else:
            assert self.other is not None
            _replace(data / self.path, data / self.other)
        return tuple(touched)


def _names_of(data: Path, path: Path) -> list[Path]:
    """The hard links of a file: damage in place is damage of all of them."""
    inode = (data / path).stat().st_ino
    links = [found for found in data.rglob("*") if found.lstat().st_ino == inode]
    return [path, *(link.relative_to(data) for link in links if link != data / path)]


def _flip(path: Path, dice: random.Random) -> None:
    content = bytearray(path.read_bytes())
    if content:
        content[_position(content, dice)] ^= 1 << dice.randrange(8)
    _write(path, content)


def _zero(path: Path, dice: random.Random) -> None:
    content = bytearray(path.read_bytes())
    if content:
        length = dice.choice((dice.randint(1, 512), _PAGE, 16 * _PAGE, len(content)))
        start = 0 if length == len(content) else _position(content, dice)
        if length >= _PAGE:
            start = start // _PAGE * _PAGE
        end = min(start + length, len(content))
        content[start:end] = bytes(end - start)
    _write(path, content)


def _truncate(path: Path, dice: random.Random) -> None:
    content = path.read_bytes()
    if content:
        somewhere = _position(content, dice)
        length = dice.choice((0, len(content) - 1, somewhere, somewhere // _PAGE * _PAGE))
        os.truncate(path, length)


def _extend(path: Path, dice: random.Random) -> None:
    with path.open("ab") as file:
        file.write(dice.randbytes(dice.choice((1, 100, _PAGE, 4 * _PAGE))))


def _position(content: Sequence[int], dice: random.Random) -> int:
    """A position, most often on a page that holds anything."""
    pages = range(0, len(content), _PAGE)
    if dice.random() < 0.9:
        pages_used = [page for page in pages if any(content[page : page + 256])]
        page = dice.choice(pages_used or pages)
    else:
        page = dice.choice(pages)
    size = min(_PAGE, len(content) - page)
    return page + dice.randrange(min(size, dice.choice((64, 512, _PAGE))))


def _write(path: Path, content: bytes | bytearray) -> None:
    """In place: all hard links of the file have the bytes."""
    with path.open("r+b") as file:
        file.write(content)


def _swap(one: Path, other: Path) -> None:
    aside = one.with_name(f"{one.name}.aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def _replace(path: Path, source: Path) -> None:
    copied = path.with_name(f"{path.name}.copy")
    shutil.copy2(source, copied)
    copied.replace(path)


_IN_PLACE: Final[Mapping[FaultKind, Callable[[Path, random.Random], None]]] = {
    FaultKind.FLIP: _flip,
    FaultKind.ZERO: _zero,
    FaultKind.TRUNCATE: _truncate,
    FaultKind.EXTEND: _extend,
}

_Others: TypeAlias = list[Path]


def draw_fault(
    template: Template,
    templates: Sequence[Template],
    file_kind: FileKind,
    kind: FaultKind,
    dice: random.Random,
) -> Fault | None:
    """A fault of a kind of file, or none if no file of the template can have it."""
    paths = list(_kept_files(template.data)[file_kind])
    dice.shuffle(paths)
    for path in paths:
        others = _others(template, templates, file_kind, kind, path)
        if others is None:
            return Fault(kind, file_kind, path, None, str(dice.getrandbits(64)))
        if others:
            return Fault(kind, file_kind, path, dice.choice(others), str(dice.getrandbits(64)))
    return None


def is_possible(
    template: Template, templates: Sequence[Template], file_kind: FileKind, kind: FaultKind
) -> bool:
    """Whether any file of the template can have the fault."""
    return draw_fault(template, templates, file_kind, kind, random.Random(0)) is not None


def _others(
    template: Template, templates: Sequence[Template], file_kind: FileKind, kind: FaultKind, path: Path
) -> _Others | None:
    """The other files that the fault may take; none if it takes no other."""
    if kind is FaultKind.SWAP:
        return _different(template, path, _kept_files(template.data)[file_kind])
    if kind is FaultKind.DUPLICATE:
        return _different(template, path, _kept_files(template.data)[file_kind])
    if kind is FaultKind.OLDER:
        return _older(template, file_kind, path)
    if kind is FaultKind.FOREIGN:
        rest = [each for each in templates if each.folder != template.folder]
        return [each.data / path for each in rest for path in _kept_files(each.data)[file_kind]]
    return None


def _different(template: Template, path: Path, paths: Sequence[Path]) -> _Others:
    own = _digest(template.data / path)
    return [other for other in paths if other != path and _digest(template.data / other) != own]


def _older(template: Template, file_kind: FileKind, path: Path) -> _Others:
    """Earlier versions of the file, or of the file of its kind that its directory had."""
    own = _digest(template.data / path)
    found = []
    for moment in range(template.older):
        earlier = template.earlier(moment)
        same = earlier / path
        names = (
            [same]
            if same.exists()
            else [earlier / other for other in _kept_files(earlier)[file_kind] if other.parent == path.parent]
        )
        found += [each for each in names if _digest(each) != own]
    return found


@cache
def _kept_files(data: Path) -> dict[FileKind, list[Path]]:
    """The files of a directory that nothing changes."""
    return find_files(data)


@cache
def _digest(path: Path) -> int:
    """Of a file that nothing changes."""
    return xxh3_128_intdigest(path.read_bytes())
