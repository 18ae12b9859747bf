"""A file system on an image whose power can be cut: what was flushed stays, the rest may land in pieces."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.support import power_cut_disk

__all__ = ["PoweredImage", "SealedImage"]

_DEVICES = (Path("/dev/fuse"), Path("/dev/loop-control"))
# As small as holds a journal of eight small files beside that of the file system.
_SIZE = "24M"
_BLOCK = "4096"
# A guard against hanging, not a measurement.
_ENDS_WITHIN = 60.0


class PoweredImage:
    """An image that has power, until it has none."""

    def __init__(self, files: Path, disk: "subprocess.Popen[str]") -> None:
        self.files = files
        """Where the file system is."""
        self.is_mounted = False
        self._disk = disk

    def cut_after(self, requests: int) -> None:
        """Lets the power fail at the n-th write or flush of the file system from now on."""
        assert self._disk.stdin is not None
        self._disk.stdin.write(f"cut {requests}\n")
        self._disk.stdin.flush()

    def hears(self, word: str) -> bool:
        """Whether this is what the disk says next."""
        assert self._disk.stdout is not None
        return self._disk.stdout.readline() == f"{word}\n"


class SealedImage:
    """A block image with an ext4 file system, without power."""

    def __init__(self, folder: Path, *directories: str, size: str = _SIZE) -> None:
        """An image of a size, as `mkfs` takes it, with these empty directories."""
        assert os.geteuid() == 0, "a power cut needs root"
        assert [device for device in _DEVICES if not device.exists()] == []
        self._folder = folder
        self._image = folder / "image"
        for directory in directories:
            (folder / "seed" / directory).mkdir(parents=True)
        seed = ["-d", str(folder / "seed")] if directories else []
        # Its superblock fills two sectors: one that is torn between them would have to be mended by hand.
        without_checksums = ["-O", "^metadata_csum"]
        subprocess.run(
            ["mkfs.ext4", "-q", "-F", "-b", _BLOCK, *without_checksums, *seed, str(self._image), size],
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=_ENDS_WITHIN,
        )

    @contextmanager
    def powered(
        self, seed: int, *, cut_after: int | None = None, lies: bool = False
    ) -> Iterator[PoweredImage]:
        """Mounts the file system; what is left when the power is gone is the image from then on.

        With `cut_after` the power may fail before that. A disk that lies confirms flushes and forgets them.
        """
        cut = self._folder / "cut"
        with ExitStack() as stack:
            image = stack.enter_context(self._served(seed, cut, ["lies"] if lies else []))
            if cut_after is not None:
                image.cut_after(cut_after)
            files = self._folder / "files"
            files.mkdir(exist_ok=True)
            mount = ["mount", "-t", "ext4", "-o", "loop,noatime", str(self._folder / "disk"), str(files)]
            done = subprocess.run(mount, capture_output=True, text=True, check=False, timeout=_ENDS_WITHIN)
            image.is_mounted = done.returncode == 0
            if image.is_mounted:
                # The loop device goes with the file system.
                stack.callback(_unmount, files)
            assert image.is_mounted or cut_after is not None, done.stderr
            yield image
        if cut.exists():
            cut.replace(self._image)

    @contextmanager
    def _served(self, seed: int, cut: Path, lies: list[str]) -> Iterator[PoweredImage]:
        disk = self._folder / "disk"
        disk.touch()
        command = [sys.executable, "-I", "-S", power_cut_disk.__file__]
        with subprocess.Popen(
            [*command, self._image, disk, cut, str(seed), *lies],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as server:
            try:
                image = PoweredImage(self._folder / "files", server)
                assert image.hears("ready"), "the image cannot be served"
                yield image
            finally:
                assert server.stdin is not None
                server.stdin.close()
                try:
                    server.wait(_ENDS_WITHIN)
                finally:
                    server.kill()
        assert server.returncode == 0, f"the disk ended with {server.returncode}"


def _unmount(files: Path) -> None:
    done = subprocess.run(["umount", files], check=False, timeout=_ENDS_WITHIN)
    if done.returncode != 0:
        # Somebody still has a file of it: it goes when they do.
        subprocess.run(["umount", "--lazy", files], check=True, timeout=_ENDS_WITHIN)
