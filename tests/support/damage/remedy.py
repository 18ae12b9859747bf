"""A refused start: the sentence must name a damaged file and a remedy, which is then followed."""

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from tests.support.damage.recovery import accept_losses, list_losses
from tests.support.damage.template import copy_tree

__all__ = ["Followed", "Refusal", "Remedy", "follow"]

_STATUSES: Final = (65, 74, 78)
_RECOVER: Final = re.compile(r"`server-ng recover [^`]+`")
_DELETE: Final = re.compile(r"\b(?:Remove|Delete|Move) (?P<path>/\S+?)(?: away)?(?=[,.;]?(?:\s|$))")
_RESTORE: Final = re.compile(r"[Rr]estore|Put the (?:files|newest superblock) back")
_STRAYS: Final = re.compile(r"Give each file of it its own name and content back")
_JOURNAL: Final = re.compile(r"[Jj]ournal in (?P<path>/\S+)")
_WRONG_FILE: Final = re.compile(r"(?P<name>journal-\d{8}) (?:is of|is one more|holds)")
_JOURNAL_FILE: Final = re.compile(r"journal-\d{8}")
_WHOLE: Final = re.compile(r"[Rr]estore the (?:whole )?(?:data )?directory")
_PATH: Final = re.compile(r"(?P<path>/[^\s:`',]+)")


class Remedy(StrEnum):
    """What a refusal tells an operator to do."""

    ACCEPT = "accept losses"
    DELETE = "delete the file"
    MOVE = "move the file away"
    RESTORE_FILE = "restore the file"
    RESTORE_ALL = "restore the directory"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A start that ended by itself."""

    status: int
    said: str

    def complaints(self, data: Path, touched: Sequence[Path | str]) -> list[str]:
        """What is wrong with the refusal itself."""
        found = []
        if self.status not in _STATUSES:
            found.append(f"a start ended with status {self.status}: {self.said}")
        elif not self._names(data, touched):
            found.append(f"no damaged file is named: {self.said}")
        return found

    def _names(self, data: Path, touched: Sequence[Path | str]) -> bool:
        """Whether the sentence, or the list of losses that it points to, names a damaged file."""
        said = self.said
        if _RECOVER.search(said):
            said += list_losses(data).stdout
        named = set(_PATH.findall(said)) | {str(path) for path in _journal_files(said)}
        return any(str(data / path) in {name.rstrip(".,)") for name in named} for path in touched)


@dataclass(frozen=True, slots=True)
class Followed:
    """A remedy that was followed."""

    remedy: Remedy
    accepted: tuple[str, ...] = ()
    """Names of accepted losses."""


def follow(refusal: Refusal, data: Path, backup: Path, *, has_copy: bool) -> Followed | None:
    """Does what the refusal says; nothing if it names no remedy.

    The backup was made before the damage. An operator without a copy uses it only if nothing else is offered.
    """
    if _STRAYS.search(refusal.said):
        return _sort_out(refusal.said, data, backup, has_copy=has_copy)
    if has_copy and _WHOLE.search(refusal.said):
        return _restore_all(data, backup)
    if _RECOVER.search(refusal.said):
        accepted = accept_losses(data)
        if accepted:
            return Followed(Remedy.ACCEPT, accepted)
        # `recover` reads every shard, and may find in another one what the next start would find.
        refused = list_losses(data).stderr
        if _STRAYS.search(refused):
            return _sort_out(refused, data, backup, has_copy=has_copy)
    delete = _DELETE.search(refusal.said)
    if delete is not None:
        Path(delete["path"]).unlink()
        return Followed(Remedy.DELETE)
    if _WHOLE.search(refusal.said):
        return _restore_all(data, backup)
    if _RESTORE.search(refusal.said):
        _restore_files(refusal.said, data, backup)
        return Followed(Remedy.RESTORE_FILE)
    return None


def _restore_all(data: Path, backup: Path) -> Followed:
    shutil.rmtree(data)
    copy_tree(backup, data)
    return Followed(Remedy.RESTORE_ALL)


def _journal_files(said: str) -> list[Path]:
    """The files of a journal that a sentence about its directory names."""
    directory = _JOURNAL.search(said)
    return [Path(directory["path"]) / name for name in _JOURNAL_FILE.findall(said)] if directory else []


def _sort_out(said: str, data: Path, backup: Path, *, has_copy: bool) -> Followed:
    """Gives files of a journal their content back, or moves the wrong files away."""
    if not has_copy:
        directory = _journal_files(said)[0].parent
        for found in _WRONG_FILE.finditer(said):
            (directory / found["name"]).unlink()
        return Followed(Remedy.MOVE)
    for path in _journal_files(said):
        kept = backup / path.relative_to(data)
        if kept.is_file():
            shutil.copy2(kept, path)
        else:
            path.unlink()
    return Followed(Remedy.RESTORE_FILE)


def _restore_files(said: str, data: Path, backup: Path) -> None:
    """Restores each file that the sentence names and the backup has."""
    restored = []
    for found in _PATH.finditer(said):
        path = Path(found["path"].rstrip("."))
        if path.is_relative_to(data) and (backup / path.relative_to(data)).is_file():
            restored.append(path)
            shutil.copy2(backup / path.relative_to(data), path)
    assert restored, f"restore which file? {said}"
