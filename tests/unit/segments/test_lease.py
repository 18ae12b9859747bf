"""The manifest of a lease: it survives its text, and what it cannot say is refused by name."""

import json
from pathlib import Path
from typing import Any

import pytest

from server_ng.segments.lease import MANIFEST_NAME, Lease, LeaseError, PartitionCut, SegmentCut

SEALED = SegmentCut(
    path="0000000000000007/00000000000000000000.log",
    generation=0,
    bytes=5_000,
    first_offset=0,
    last_offset=9,
    messages=8,
    min_timestamp=1_000,
    max_timestamp=2_000,
    digest="0" * 31 + "1",
)
ACTIVE = SegmentCut(
    path="0000000000000007/00000000000000000010.log",
    generation=0,
    bytes=700,
    first_offset=10,
    last_offset=2**64 - 2,
    messages=2,
    min_timestamp=2_000,
    max_timestamp=2**64 - 1,
    digest=None,
)
LEASE = Lease(
    lease="a1",
    cluster="f" * 32,
    stream="orders",
    topic="événements",
    cut_at=1_700_000_000_000_000,
    partitions=(
        PartitionCut(0, "0000000000000007", 3, 0, 2**64 - 2, (SEALED, ACTIVE)),
        PartitionCut(2, "0000000000000009", 0, 0, None, ()),
        PartitionCut(5, "000000000000000a", 0, 100, 99, ()),
    ),
)


def plain() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(LEASE.encode())
    return found


def test_manifest_survives_its_text(tmp_path: Path) -> None:
    (tmp_path / MANIFEST_NAME).write_text(LEASE.encode())
    assert Lease.read(tmp_path) == LEASE
    assert Lease.of(plain()) == LEASE


def test_ends_and_counts() -> None:
    assert [cut.end_offset for cut in LEASE.partitions] == [2**64 - 1, 0, 100]
    assert [cut.messages for cut in LEASE.partitions] == [10, 0, 0]


@pytest.mark.parametrize(
    ("field", "value", "names"),
    [
        (("version",), 2, "another server"),
        (("cluster",), "F" * 32, "cluster"),
        (("stream",), "", "stream"),
        (("cut_at",), -1, "cut_at"),
        (("cut_at",), True, "cut_at"),
        (("partitions",), {}, "not a list"),
        (("partitions", 0), 1, "not an object"),
        (("partitions", 1, "partition"), 0, "comes after"),
        (("partitions", 0, "group_id"), "7", "group_id"),
        (("partitions", 0, "commit_offset"), 9, "commit_offset"),
        (("partitions", 1, "commit_offset"), 4, "none holds"),
        (("partitions", 0, "segments", 0, "path"), "../LOCK", "leads out"),
        (("partitions", 0, "segments", 0, "path"), "/etc/passwd", "leads out"),
        (("partitions", 0, "segments", 0, "last_offset"), 10, "not in order"),
        (("partitions", 0, "segments", 1, "last_offset"), 9, "ends before"),
        (("partitions", 0, "segments", 0, "messages"), 11, "messages"),
        (("partitions", 0, "segments", 0, "messages"), 0, "messages"),
        (("partitions", 0, "segments", 0, "bytes"), 0, "messages"),
        (("partitions", 0, "segments", 0, "digest"), "", "digest"),
        (("partitions", 0, "segments", 0, "min_timestamp"), 2_001, "ends before"),
        (("partitions", 0, "segments", 0, "generation"), 2**32, "generation"),
    ],
)
def test_what_cannot_be_is_refused_by_name(field: tuple[Any, ...], value: object, names: str) -> None:
    found = plain()
    place: Any = found
    for step in field[:-1]:
        place = place[step]
    place[field[-1]] = value
    with pytest.raises(LeaseError, match=names):
        Lease.of(found)


def test_every_field_is_needed() -> None:
    for name in plain():
        found = plain()
        del found[name]
        with pytest.raises(LeaseError, match=f"{name}: it is missing"):
            Lease.of(found)


def test_directory_without_a_manifest_is_no_lease(tmp_path: Path) -> None:
    with pytest.raises(LeaseError, match="not a lease"):
        Lease.read(tmp_path)
    (tmp_path / MANIFEST_NAME).write_bytes(b"\xff{")
    with pytest.raises(LeaseError, match="not JSON"):
        Lease.read(tmp_path)
