"""Power cuts under a file system: what the journal said was durable is there when the power is back."""

import os
import random
from pathlib import Path

import pytest

from tests.support.fixtures import LONG
from tests.support.journal_writer import DISK_FAILED, JournalWriter
from tests.support.kill_at_call import KILLED, killer
from tests.support.power_cut import SealedImage
from tests.support.power_cut_disk import SECTOR, Disk

# Each image is founded once and loses power so often; four kinds of writers have so many images each.
CUTS = 5
IMAGES = 10 if LONG else 1

FOUNDING_REQUESTS = 120
MOUNTING_REQUESTS = 40
REQUESTS = 1200

# A writer of the same life may have been killed before: what it wrote is in memory, and perhaps nowhere else.
KILLED_BEFORE = 0.3
CALLS = 150


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("direct", [False, True], ids=["buffered", "direct"])
@pytest.mark.parametrize("image", range(IMAGES))
def test_a_power_cut_loses_nothing(
    journal_program: Path, tmp_path: Path, backend: str, direct: bool, image: int
) -> None:
    """Aim: an acknowledgement outlives the power. Method: cut it while founding, mounting and writing."""
    chance = random.Random(f"{backend} {direct} {image}")
    sealed = SealedImage(tmp_path, "journal")
    writer = JournalWriter(journal_program, tmp_path / "files/journal", tmp_path / "said", backend, direct)
    for cut in range(CUTS):
        write_until_power_fails(sealed, writer, chance, founding=cut == 0)
    with sealed.powered(0):
        assert writer.complaints() == ""
        status, errors = writer.run(ops=20)
        assert status == 0, errors
        assert writer.complaints() == ""
    assert writer.acknowledged() > 20


def write_until_power_fails(
    sealed: SealedImage, writer: JournalWriter, chance: random.Random, *, founding: bool
) -> None:
    """One life of the machine: what was promised is there, and more is promised until the power fails."""
    early = chance.randrange(1, MOUNTING_REQUESTS) if chance.random() < 0.2 and not founding else None
    with sealed.powered(chance.randrange(1 << 32), cut_after=early) as image:
        if early is None:
            assert writer.complaints() == ""
            if chance.random() < KILLED_BEFORE:
                status, errors = writer.run(killer("entry", chance.randrange(1, CALLS)))
                assert status == KILLED, errors
                assert writer.complaints() == ""
            image.cut_after(chance.randrange(1, FOUNDING_REQUESTS if founding else REQUESTS))
        if image.is_mounted:
            status, errors = writer.run(seed=chance.randrange(1 << 32))
            assert status == DISK_FAILED, errors
        assert image.hears("cut")


def test_a_disk_that_lies_is_found_out(journal_program: Path, tmp_path: Path) -> None:
    """Aim: the rig can lose something. Method: flushes are confirmed and forgotten."""
    sealed = SealedImage(tmp_path, "journal")
    writer = JournalWriter(journal_program, tmp_path / "files/journal", tmp_path / "said", "posix")
    with sealed.powered(1, lies=True) as image:
        image.cut_after(FOUNDING_REQUESTS)
        writer.run()
        assert image.hears("cut")
    assert writer.acknowledged() > 0
    with sealed.powered(2):
        assert "the journal was founded and is not there" in writer.complaints()


def test_what_is_synced_stays_and_what_is_not_does_not(tmp_path: Path) -> None:
    sealed = SealedImage(tmp_path)
    synced, unsynced = (tmp_path / "files" / name for name in ("synced", "unsynced"))
    content = os.urandom(1 << 20)
    with sealed.powered(3) as image:
        for path in (synced, unsynced):
            path.touch()
        os.sync()
        synced.write_bytes(content)
        sync(synced)
        unsynced.write_bytes(content)
        image.cut_after(1)
        with pytest.raises(OSError, match="Input/output error"):
            sync(unsynced)
        assert image.hears("cut")
    with sealed.powered(4):
        assert synced.read_bytes() == content
        assert unsynced.read_bytes() != content


def sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def test_unflushed_sectors_land_or_not_each_for_itself() -> None:
    old, new, sectors = b"o" * SECTOR, b"n" * SECTOR, 64
    seen = set()
    for seed in range(50):
        disk = Disk(bytearray(old * sectors), random.Random(seed))
        disk.write(0, new * 8)
        disk.flush()
        disk.write(4 * SECTOR, b"x" * SECTOR * 8)
        left = disk.lose_power()
        assert left[: 4 * SECTOR] == new * 4
        assert left[12 * SECTOR :] == old * (sectors - 12)
        torn = left[4 * SECTOR : 12 * SECTOR]
        landed = [torn[at : at + SECTOR] == b"x" * SECTOR for at in range(0, len(torn), SECTOR)]
        assert all(torn[at * SECTOR] in b"xno" for at in range(8))
        seen.add(sum(landed))
    assert {0, 8} < seen
