"""Addresses of Unix sockets, which the kernel takes up to a length that data directories need not keep to."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

__all__ = ["socket_address"]

_ADDRESS_BYTES_MAX: Final = 107
"""Of `sun_path`, without the zero byte at its end."""


@contextmanager
def socket_address(path: Path) -> Iterator[str]:
    """An address for `bind` or `connect` within the block, however long the path is; raises `OSError`.

    A long one leads through the descriptor of its folder. Needs /proc for that, and permission to search the
    folder.
    """
    if len(os.fsencode(path)) <= _ADDRESS_BYTES_MAX:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
