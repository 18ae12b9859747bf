"""The golden files, read by a reader that knows only FORMAT.md."""

import pytest

from tests.support import storage_reader as reader

CLUSTER = 0x0102030405060708090A0B0C0D0E0F10
NODE = 0x1112131415161718191A1B1C1D1E1F20
JOURNAL = 0x2122232425262728292A2B2C2D2E2F30
START = 1_700_000_000_000_000


@pytest.mark.parametrize(
    ("name", "magic", "version"),
    [
        ("layout", b"NGLAYOUT", 2),
        ("superblock", b"NGSUPERB", 2),
        ("journal", b"NGBLOCK\0", 2),
        ("manifest", b"NGMANIFS", 2),
        ("segments", b"NGSEGMTS", 2),
        ("index", b"NGINDEX\0", 2),
        ("state", b"NGSTATE\0", 1),
    ],
)
def test_every_file_begins_with_its_envelope(name: str, magic: bytes, version: int) -> None:
    found = reader.structure(reader.golden_file(name))
    assert (found.magic, found.version, found.features) == (magic, version, 0)
    assert found.checksum != 0


def test_layout() -> None:
    assert reader.layout(reader.golden_file("layout")) == (CLUSTER, NODE, 2, 1, [(1, 0), (2, 0)])


def test_superblock() -> None:
    copies = reader.superblock_copies(reader.golden_file("superblock"))
    assert [fields.pop("copy") for fields in copies] == [0, 1, 2, 3]
    assert (
        copies
        == [
            {
                "epoch": 2,
                "shard": 3,
                "shard_count": 4,
                "clean": 1,
                "zero": 0,
                "sequence": 17,
                "cluster": CLUSTER,
                "node": NODE,
                "journal": JOURNAL,
                "parent": 0x3132,
                "incarnation": 5,
                "manifest_sequence": 9,
                "manifest_checksum": 0x4142,
                "journal_file_bytes": 1 << 22,
                "journal_files": 6,
                "synced_file": 4,
                "synced_sequence": 88,
                "synced_checksum": 0x7172,
                "frame_bytes_max": 1 << 20,
                "pipeline_depth": 8,
                "client_table_slots": 1024,
                "consumer_offsets_max": 4096,
                "node_number": 1,
                "node_count": 3,
            }
        ]
        * 4
    )


def test_journal_blocks_are_chained() -> None:
    first, second, mark = reader.blocks(reader.golden_file("journal"))
    assert [block.sequence for block in (first, second, mark)] == [71, 72, 73]
    assert [block.synced_through for block in (first, second, mark)] == [5, 71, 72]
    assert (first.previous, second.previous, mark.previous) == (0, first.checksum, second.checksum)
    assert all((block.journal, block.incarnation, block.oldest) == (JOURNAL, 5, 2) for block in (first, mark))
    assert (first.file, first.offset, second.offset, mark.records) == (1, 0, 8192, ())


def test_journal_records() -> None:
    first, second, _ = reader.blocks(reader.golden_file("journal"))
    opened, small, large = first.records
    assert (opened.kind, opened.body[:2]) == (3, b"\x03\x00")
    assert [int.from_bytes(opened.body[at : at + 16], "little") - NODE for at in (8, 24, 40)] == [0, 1, 2]
    assert (small.kind, small.level, small.operation, small.group, small.op) == (1, 1, 202, 7, 11)
    assert (small.view, small.request, small.timestamp, small.commit) == (3, 51, START + 11, 10)
    assert (small.client, small.parent, small.epoch, small.body) == (
        0x6162,
        0x5152 + 11,
        1,
        b"the first body",
    )
    assert (large.op, large.body) == (12, b"\xab" * 5_000)
    assert [(record.kind, record.group, record.op) for record in second.records] == [
        (2, 7, 0),
        (5, 8, 30),
        (4, 9, 12),
        (6, 0, 0),
    ]
    assert len(second.records[0].body) == 40 + 2 * 160
    assert second.records[3].body[8:24] == (3).to_bytes(8, "little") * 2


def test_manifest() -> None:
    assert reader.manifest_groups(reader.golden_file("manifest")) == [
        (7, 11, 99, [(1, 5, 77), (2, 1, 70)]),
        (8, 11, 2**64 - 1, []),
    ]


def test_segment() -> None:
    data = reader.golden_file("segment")
    found = reader.batches(data)
    assert [(batch.base_offset, batch.base_timestamp - START, batch.count) for batch in found] == [
        (100, 0, 2),
        (102, 500, 1),
        (110, 900, 1),
    ]
    assert [batch.payloads for batch in found] == [
        (b"hello", b"world"),
        (b"\x5a" * 4_000,),
        (b"after a gap",),
    ]
    sealed = reader.footer(data)
    assert sealed == {
        "group": 7,
        "base_offset": 100,
        "last_offset": 110,
        "messages": 4,
        "first_op": 11,
        "last_op": 13,
        "bytes": 256 * 3 + 48 * 4 + 10 + 4_000 + 11,
        "min_timestamp": START,
        "max_timestamp": START + 900,
        "generation": 0,
        "digests": 1,
    }


def test_segments() -> None:
    sealed, unsealed = reader.segments(reader.golden_file("segments"))
    assert (sealed["base"], sealed["last"], sealed["generation"], sealed["messages"]) == (100, 110, 2, 9)
    assert (unsealed["base"], unsealed["last"], unsealed["bytes"]) == (111, 2**64 - 1, 0)
    assert reader.fences(reader.golden_file("segments")) == [(103, 104, 100, 2)]


def test_index() -> None:
    assert reader.index_entries(reader.golden_file("index")) == [(100, START, 0), (110, START + 900, 4_670)]


def test_state() -> None:
    state = reader.state(reader.golden_file("state"))
    assert (state.group, state.op, state.chain) == (1 << 63, 12, 0xC1C2C3C4)
    assert (state.clients, state.machine) == (bytes(range(1, 21)), bytes(33 * [7]))
