"""A reader of the files of a data directory, written from native/storage/FORMAT.md alone.

It takes structures apart and checks no checksum: that is what the code under test is compared with.
"""

import struct
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "Batch",
    "Block",
    "Record",
    "Structure",
    "batches",
    "blocks",
    "fences",
    "footer",
    "golden_file",
    "index_entries",
    "layout",
    "manifest_groups",
    "segments",
    "state",
    "structure",
    "superblock_copies",
]

PAGE = 4096
_ENVELOPE = 32
_FOLDER = Path(__file__).resolve().parent.parent / "golden" / "storage"


@dataclass(frozen=True, slots=True)
class Structure:
    """An envelope and what it holds."""

    checksum: int
    magic: bytes
    version: int
    features: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a journal."""

    kind: int
    level: int
    operation: int
    group: int
    op: int
    view: int
    request: int
    timestamp: int
    commit: int
    epoch: int
    client: int
    parent: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a journal."""

    journal: int
    previous: int
    checksum: int
    sequence: int
    incarnation: int
    synced_through: int
    oldest: int
    offset: int
    file: int
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch of a segment."""

    position: int
    base_offset: int
    base_timestamp: int
    count: int
    payloads: tuple[bytes, ...]


def golden_file(name: str) -> bytes:
    """The bytes of a golden file: its size, then the rows that are not zero."""
    first, *rows = (_FOLDER / f"{name}.hex").read_text().splitlines()
    data = bytearray(int(first.removeprefix("size ")))
    for row in rows:
        start, _, digits = row.partition(":")
        piece = bytes.fromhex(digits)
        data[int(start, 16) : int(start, 16) + len(piece)] = piece
    return bytes(data)


def _wide(data: bytes) -> int:
    return int.from_bytes(data, "little")


def structure(data: bytes) -> Structure:
    """Takes the envelope off the structure at the front of `data`."""
    magic, version, features, size = struct.unpack_from("<8sHHI", data, 16)
    return Structure(_wide(data[:16]), magic, version, features, data[_ENVELOPE:size])


def layout(data: bytes) -> tuple[int, int, int, int, list[tuple[int, int]]]:
    """Cluster, node, epoch, shard count, and the journals by epoch and shard."""
    epoch, shards, count = struct.unpack_from("<III", data, 64)
    journals = [struct.unpack_from("<II", data, 96 + 8 * number) for number in range(count)]
    return _wide(data[32:48]), _wide(data[48:64]), epoch, shards, [(pair[0], pair[1]) for pair in journals]


def superblock_copies(data: bytes) -> list[dict[str, int]]:
    """The fields of each copy."""
    names = ("epoch", "shard", "shard_count", "copy", "clean", "zero", "sequence")
    copies = []
    for page in (data[start : start + PAGE] for start in range(0, 4 * PAGE, PAGE)):
        fields = dict(zip(names, struct.unpack_from("<IIIBBHQ", page, 80), strict=True))
        fields |= {
            "cluster": _wide(page[32:48]),
            "node": _wide(page[48:64]),
            "journal": _wide(page[64:80]),
            "parent": _wide(page[104:120]),
            "manifest_checksum": _wide(page[136:152]),
        }
        fields["incarnation"], fields["manifest_sequence"] = struct.unpack_from("<QQ", page, 120)
        ring = ("journal_file_bytes", "journal_files", "synced_file", "synced_sequence")
        fields |= dict(zip(ring, struct.unpack_from("<QIIQ", page, 152), strict=True))
        fields["synced_checksum"] = _wide(page[176:192])
        tail = (
            "frame_bytes_max",
            "pipeline_depth",
            "client_table_slots",
            "consumer_offsets_max",
            "node_number",
            "node_count",
        )
        fields |= dict(zip(tail, struct.unpack_from("<IIIIBB", page, 192), strict=True))
        copies.append(fields)
    return copies


def blocks(data: bytes) -> list[Block]:
    """The blocks of a file of a journal, up to the first page that starts none."""
    found: list[Block] = []
    position = 0
    while data[position + 16 : position + 24] == b"NGBLOCK\0":
        block, length = _block(data[position:])
        found.append(block)
        position += length
    return found


def _block(data: bytes) -> tuple[Block, int]:
    sequence, incarnation, synced, oldest, offset, file, length, count = struct.unpack_from("<5Q3I", data, 64)
    records = []
    body = 256 + 160 * count
    for start in range(256, 256 + 160 * count, 160):
        (size,) = struct.unpack_from("<I", data, start + 116)
        records.append(_record(data[start : start + 160], data[body : body + size]))
        body += (size + 7) // 8 * 8
    block = Block(
        journal=_wide(data[32:48]),
        previous=_wide(data[48:64]),
        checksum=_wide(data[:16]),
        sequence=sequence,
        incarnation=incarnation,
        synced_through=synced,
        oldest=oldest,
        offset=offset,
        file=file,
        records=tuple(records),
    )
    return block, length


def _record(header: bytes, body: bytes) -> Record:
    group, op, view, request, timestamp, commit = struct.unpack_from("<6Q", header, 64)
    kind, level, operation, _, epoch = struct.unpack_from("<BBHII", header, 112)
    return Record(
        kind=kind,
        level=level,
        operation=operation,
        group=group,
        op=op,
        view=view,
        request=request,
        timestamp=timestamp,
        commit=commit,
        epoch=epoch,
        client=_wide(header[48:64]),
        parent=_wide(header[32:48]),
        body=body,
    )


def manifest_groups(data: bytes) -> list[tuple[int, int, int, list[tuple[int, int, int]]]]:
    """Group, checkpointed op, last offset and stored offsets of each entry."""
    (count,) = struct.unpack_from("<I", data, 84)
    position, groups = 128, []
    for _ in range(count):
        group, last = struct.unpack_from("<QQ", data, position)
        (offsets,) = struct.unpack_from("<I", data, position + 32)
        (gaps,) = struct.unpack_from("<I", data, position + 48)
        (unsealed,) = struct.unpack_from("<I", data, position + 52)
        (op,) = struct.unpack_from("<Q", data, position + 64 + 72)
        position += 224 + 72 * unsealed
        stored = []
        for _ in range(offsets):
            kind, consumer, offset = struct.unpack_from("<B7xQQ", data, position)
            stored.append((kind, consumer, offset))
            position += 24
        position += 16 * gaps
        groups.append((group, op, last, stored))
    return groups


def batches(data: bytes) -> list[Batch]:
    """The batches of a segment."""
    found: list[Batch] = []
    position = 0
    while any(data[position : position + 256]) and data[position + 16 : position + 24] != b"NGFOOTER":
        base, timestamp, _, length, _, count = struct.unpack_from("<QQQQQI", data, position + 8)
        at, payloads = position + 256, []
        for _ in range(count):
            headers, payload = struct.unpack_from("<II", data, at + 32)
            payloads.append(data[at + 48 : at + 48 + payload])
            at += 48 + payload + headers
        found.append(Batch(position, base, timestamp, count, tuple(payloads)))
        position += length
        padding = data[position : (position + PAGE - 1) // PAGE * PAGE]
        if not any(padding):
            position += len(padding)
    return found


def footer(data: bytes) -> dict[str, int]:
    """The footer of a segment whose footer takes one page."""
    page = data[-PAGE:]
    names = (
        "group",
        "base_offset",
        "last_offset",
        "messages",
        "first_op",
        "last_op",
        "bytes",
        "min_timestamp",
        "max_timestamp",
        "generation",
        "digests",
    )
    return dict(zip(names, struct.unpack_from("<9QII", page, 32), strict=True))


def segments(data: bytes) -> list[dict[str, int]]:
    """The segments that a SEGMENTS file names."""
    (count,) = struct.unpack_from("<I", data, 72)
    names = ("base", "last", "min_timestamp", "max_timestamp", "bytes", "generation", "messages")
    return [
        dict(zip(names, struct.unpack_from("<5QII", data, 104 + 64 * number), strict=True))
        for number in range(count)
    ]


def fences(data: bytes) -> list[tuple[int, int, int, int]]:
    """First and last lost offset, base offset and generation of each fence that a SEGMENTS file names."""
    segments, loose = struct.unpack_from("<II", data, 72)
    (count,) = struct.unpack_from("<I", data, 96)
    begin = 104 + 64 * (segments + loose)
    rows = [struct.unpack_from("<QQQI", data, begin + 32 * number) for number in range(count)]
    return [(row[0], row[1], row[2], row[3]) for row in rows]


def index_entries(data: bytes) -> list[tuple[int, int, int]]:
    """Offset, timestamp and position of each entry."""
    (count,) = struct.unpack_from("<I", data, 56)
    rows = [struct.unpack_from("<QQQ", data, 72 + 24 * number) for number in range(count)]
    return [(row[0], row[1], row[2]) for row in rows]


@dataclass(frozen=True, slots=True)
class MetadataState:
    """A state of the metadata, taken apart."""

    group: int
    op: int
    chain: int
    clients: bytes
    machine: bytes


def state(data: bytes) -> MetadataState:
    """A whole file of a state of the metadata."""
    content = structure(data).content
    group, op = struct.unpack_from("<QQ", content)
    chain = int.from_bytes(content[16:32], "little")
    clients, machine = struct.unpack_from("<QQ", content, 48)
    rest = data[_ENVELOPE + len(content) :]
    assert len(rest) == clients + machine
    return MetadataState(group, op, chain, rest[:clients], rest[clients:])
