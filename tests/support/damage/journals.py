"""The blocks of a shard's journal, read from its files."""

from pathlib import Path

from tests.support.storage_reader import Block, blocks

__all__ = ["is_proven", "journal_blocks", "live_files", "shard_directories"]


def shard_directories(data: Path) -> list[Path]:
    """The directory of each shard."""
    return sorted((data / "shards").iterdir())


def journal_blocks(shard: Path) -> list[Block]:
    """The blocks of all files of a journal, oldest first."""
    found = [block for path in sorted(shard.glob("journal-*")) for block in blocks(path.read_bytes())]
    return sorted(found, key=lambda block: block.sequence)


def is_proven(shard: Path) -> bool:
    """Whether the last block says that the one before it was synced."""
    last = journal_blocks(shard)[-1]
    return not last.records and last.synced_through == last.sequence - 1


def live_files(shard: Path) -> int:
    """Number of files with blocks that a start replays."""
    found = journal_blocks(shard)
    return len({block.file for block in found if block.sequence >= found[-1].oldest})
