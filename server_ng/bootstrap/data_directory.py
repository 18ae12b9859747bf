"""The data directory: made if needed, and owned by one process at a time."""

import contextlib
import fcntl
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import structlog

from server_ng import binding
from server_ng.bootstrap.errors import DirectoryInUseError, StartError
from server_ng.bootstrap.iggy_data import refuse_iggy_data
from server_ng.bootstrap.runtime_files import lacks_space

__all__ = ["DataDirectory"]

_log = structlog.get_logger()

_LOCK_NAME: Final = "LOCK"
_LAYOUT_NAME: Final = "LAYOUT"
_REMEDIES: Final = {
    "system.path": (
        "This user must be able to write the data directory; its owner may be another user. "
        "What a copy that is only read holds is in its journal, too: copy it to where it can be written."
    ),
    "system.runtime.path": (
        "The server writes its addresses and its sockets there: set system.runtime.path to a directory that "
        "this user may write."
    ),
}
# Of every version of LAYOUT; see native/storage/FORMAT.md, section 2.
_MAGIC: Final = b"NGLAYOUT"
_MAGIC_AT: Final = 16
_DATA_NAMES: Final = (
    "leases",
    "groups",
    "trash",
    "shards",
    "shards.new",
    f"{_LAYOUT_NAME}.new",
    _LAYOUT_NAME,
)
"""All that a server stores below its directory, in the order in which it can go."""


@dataclass(slots=True)
class DataDirectory:
    """A locked data directory. The lock is the kernel's and goes with the process, however that ends."""

    path: Path
    runtime_path: Path
    _locks: tuple[int, ...]

    @classmethod
    def take(cls, path: Path, runtime_path: Path) -> Self:
        """Makes the directories and takes the lock; raises `StartError`.

        A directory in the format of another build is refused before anything in it is touched.

        A runtime directory elsewhere has a lock of its own: two servers with one would give out each other's
        addresses and passwords.
        """
        refuse_iggy_data(path)
        _refuse_other_format(path)
        _make(path, "system.path")
        _make(runtime_path, "system.runtime.path")
        lock = _lock(path / _LOCK_NAME, "system.path")
        try:
            _check_writable(runtime_path)
            if runtime_path.resolve().is_relative_to(path.resolve()):
                return cls(path, runtime_path, (lock,))
            return cls(path, runtime_path, (lock, _lock(runtime_path / _LOCK_NAME, "system.runtime.path")))
        except StartError:
            os.close(lock)
            raise

    def recorded_shards(self) -> int | None:
        """How many shards this directory was founded with; none if it was not, or cannot be read.

        What cannot be read is refused by the engine, which says more about it.
        """
        shards = self._layout().get("shard_count")
        return shards if isinstance(shards, int) else None

    def cluster(self) -> str:
        """Identity of the cluster, 32 digits, once the directory is founded."""
        return str(self._layout()["cluster"])

    def _layout(self) -> dict[str, Any]:
        try:
            layout = (self.path / _LAYOUT_NAME).read_bytes()
        except OSError:
            return {}
        text, _, _ = binding.describe_file("layout", 0, len(layout), layout)
        return dict(json.loads(text.splitlines()[0])) if text else {}

    def delete_data(self) -> None:
        """Deletes what this server stored here, and nothing else; raises `StartError`.

        A directory without LAYOUT was not founded: there is nothing to delete. LAYOUT goes last, so that a
        deletion that was cut off can be repeated.
        """
        layout = self.path / _LAYOUT_NAME
        if not os.path.lexists(layout):
            _log.info("nothing_to_delete", path=str(self.path))
            return
        if not _is_layout(layout):
            raise StartError(
                f"{layout} is not a file of this server, so that --fresh deletes nothing here. "
                f"Delete {self.path} by hand, or set system.path to another directory."
            )
        _log.warning("deleting_data", path=str(self.path))
        try:
            for name in _DATA_NAMES:
                _delete(self.path / name)
        except OSError as error:
            raise StartError(
                f"{error.filename} cannot be deleted: {error.strerror}. Delete {self.path} by hand."
            ) from error

    def release(self) -> None:
        """Gives the lock back."""
        for lock in self._locks:
            os.close(lock)


def _make(directory: Path, setting: str) -> None:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        above = (directory, *directory.parents)
        file = next((each for each in above if os.path.lexists(each) and not each.is_dir()), directory)
        raise StartError(
            f"The directory {directory} cannot be made: {file} is no directory. "
            f"Set {setting} to a directory, or to a path where one can be made."
        ) from error
    except OSError as error:
        raise StartError(
            f"The directory {directory} cannot be made: {error.strerror}. "
            f"Give this user a directory it may write, with {setting}."
        ) from error


def _check_writable(runtime_path: Path) -> None:
    """Below a data directory that can be written, this folder still has rights of its own."""
    if not os.access(runtime_path, os.W_OK | os.X_OK, effective_ids=True):
        raise StartError(
            f"The directory {runtime_path} cannot be written by this user. {_REMEDIES['system.runtime.path']}"
        )


def _is_layout(path: Path) -> bool:
    """Whether a server founded this directory, of whatever version, and however damaged the rest is."""
    try:
        return path.read_bytes()[_MAGIC_AT : _MAGIC_AT + len(_MAGIC)] == _MAGIC
    except OSError:
        return False


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _refuse_other_format(path: Path) -> None:
    """Raises `StartError` if another build wrote LAYOUT. What else may be wrong with it, the engine says."""
    try:
        layout = (path / _LAYOUT_NAME).read_bytes()
    except OSError:
        return
    text, _, _ = binding.describe_file("layout", 0, len(layout), layout)
    line = json.loads(text.splitlines()[0]) if text else {}
    if line.get("refused") == "version":
        raise StartError(
            f"The data directory {path} cannot be opened: the version of its LAYOUT is {line['reason']}: "
            "start the build that wrote it, or move the directory away to begin with an empty one."
        )


def _lock(path: Path, setting: str) -> int:
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise StartError(
            f"The file {path} cannot be opened: {error.strerror}. {_REMEDIES[setting]}"
        ) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = _owner(path)
        os.close(fd)
        raise DirectoryInUseError(
            f"The directory {path.parent} is in use by {owner}. "
            f"Stop that server, or give this one a directory of its own with {setting}."
        ) from None
    content = json.dumps({"pid": os.getpid()}).encode() + b"\n"
    try:
        # Over what is there first: that takes no space on a full disk.
        os.pwrite(fd, content, 0)
        os.ftruncate(fd, len(content))
    except OSError as error:
        # The lock is the kernel's; its content is for people, who can do without it.
        if not lacks_space(error):
            os.close(fd)
            raise StartError(f"The file {path} cannot be written: {error.strerror}.") from error
        _log.warning("runtime_file_unwritten", path=str(path), reason=error.strerror)
    return fd


def _owner(path: Path) -> str:
    """Who wrote the lock file, as far as it can be read."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        return f"the process {int(json.loads(path.read_bytes())['pid'])}"
    return "another process"
