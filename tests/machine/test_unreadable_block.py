"""A block that a disk does not give back: an error of the job that reads it, not the end of its process."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from server_ng.segments.damage import SegmentReadError
from server_ng.segments.pieces import Pieces

PIECE = 1 << 20
CONTENT = os.urandom(8 * PIECE)
DISK_BYTES = 32 << 20
LEFT_BYTES = DISK_BYTES // 8


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """The image of a disk, with a file system on it."""
    image, files = tmp_path / "image", tmp_path / "files"
    files.mkdir()
    image.touch()
    os.truncate(image, DISK_BYTES)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-O", "^has_journal", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, files], check=True)
    yield image
    subprocess.run(["umount", "--lazy", files], check=True)


def test_a_piece_that_is_read_when_its_disk_has_lost_it(disk: Path) -> None:
    path = disk.parent / "files" / "segment"
    path.write_bytes(CONTENT)
    os.sync()
    assert os.major(path.stat().st_dev), "a file that is always copied shows nothing"
    pieces = Pieces(path, len(CONTENT))
    assert pieces.read(0, PIECE) == CONTENT[:PIECE]
    forget(path)
    os.truncate(disk, LEFT_BYTES)
    with pytest.raises(SegmentReadError, match=r"segment: byte \d+: Input/output error"):
        compare(pieces)
    pieces.close()


def compare(pieces: Pieces) -> None:
    """What is behind the first piece."""
    for begins in range(PIECE, len(CONTENT), PIECE):
        assert pieces.read(begins, PIECE) == CONTENT[begins : begins + PIECE]


def forget(path: Path) -> None:
    """What is in memory of a file, and in nobody's mapping."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
