"""A template whose operator has accepted a loss that no start has seen yet."""

from pathlib import Path
from typing import Final

from tests.support.damage.journals import is_proven, journal_blocks, shard_directories
from tests.support.damage.offset_ranges import offset_ranges
from tests.support.damage.recovery import accept_losses
from tests.support.damage.template import Template, copy_tree
from tests.support.node import Node, Plan
from tests.support.storage_reader import Block
from tests.support.waiting import until

__all__ = ["accept_loss"]

_LOGINS: Final = 6
_LOST_LOGIN: Final = 3
_METADATA: Final = 1 << 63


def accept_loss(killed: Template, folder: Path) -> Template:
    """A copy of a template that has lost sessions, and nothing that a ledger has."""
    folder.mkdir()
    ledger = killed.ledger()
    with Node(folder, Plan(settings=killed.settings)) as node:
        copy_tree(killed.data, node.data)
        node.start()
        for _ in range(_LOGINS):
            with node.connect_registered() as client:
                client.ping()
        shard, *others = shard_directories(node.data)
        until(lambda: all(map(is_proven, (shard, *others))), "journals that are proven")
        node.kill()
        lost = [block for block in journal_blocks(shard) if _is_login(block)][-_LOST_LOGIN]
        damaged = shard / f"journal-{lost.file:08}"
        _damage(damaged, lost)
        copy_tree(node.data, folder / "earlier-0")
        assert accept_losses(node.data) != ()
        ranges = offset_ranges(node.data, ledger)
    for path in folder.glob("run-*"):
        path.unlink()
    template = Template(folder, killed.settings, ranges, 1, (str(damaged.relative_to(node.data)),))
    template.save(ledger)
    return template


def _is_login(block: Block) -> bool:
    return any(
        record.group == _METADATA and record.client and len(record.body) == 4 for record in block.records
    )


def _damage(path: Path, block: Block) -> None:
    with path.open("r+b") as file:
        file.seek(block.offset + 40)
        (byte,) = file.read(1)
        file.seek(block.offset + 40)
        file.write(bytes([byte ^ 1]))
