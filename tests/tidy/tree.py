"""The files of the tree as the next commit would hold them, and what a check says of one of them."""

import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeAlias

# Written by `make generate`; judged by comparison with their source, not by the rules for written text.
GENERATED = frozenset(
    {
        "server_ng/wire/tables.py",
        "server_ng/config/table.py",
        "server_ng/engine/table.py",
        "native/abi/include/server_ng.h",
        "configs/server.toml",
        "docs/coming-from-iggy.md",
        "docs/metrics.md",
    }
)


@dataclass(frozen=True, slots=True)
class Source:
    """A text file: its path from the top of the tree, with forward slashes, and its text."""

    path: PurePosixPath
    text: str

    @property
    def lines(self) -> list[str]:
        """The text line by line, without line ends."""
        return self.text.splitlines()

    def within(self, *folders: str) -> bool:
        """Whether the file lies in one of these folders of the tree."""
        return any(self.path.is_relative_to(folder) for folder in folders)

    @property
    def is_test(self) -> bool:
        """Whether only tests read the file: what lies in a folder of tests or of benches."""
        return bool({"tests", "benches", "fuzz"} & set(self.path.parts[:-1]))


@dataclass(frozen=True, slots=True)
class Offence:
    """One thing a check found, in the form that editors jump to."""

    path: PurePosixPath
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


Check: TypeAlias = Callable[[Source], Iterable[Offence]]


def paths(root: Path) -> list[PurePosixPath]:
    """Every file that git keeps or would add, so that a new file is judged before its first commit."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return sorted(PurePosixPath(name) for name in set(listed.split("\0")) if name and (root / name).is_file())


def sources(root: Path, *suffixes: str) -> Iterator[Source]:
    """Every text file, or those with one of these suffixes."""
    for path in paths(root):
        if suffixes and path.suffix not in suffixes:
            continue
        try:
            yield Source(path, (root / path).read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            continue


def offences(check: Check, files: Iterable[Source]) -> list[str]:
    """What a check says of these files, ready to be shown by an assertion."""
    return [str(offence) for file in files for offence in check(file)]


def planted(path: str, text: str) -> Source:
    """A file that exists in a test only."""
    return Source(PurePosixPath(path), text)
