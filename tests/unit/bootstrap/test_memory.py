from pathlib import Path

import pytest

from server_ng.bootstrap.memory import limit_of_group, poll_cache_bytes, usable_memory

_MIB = 1 << 20


def _group(root: Path, limits: dict[str, str]) -> Path:
    for folder, limit in limits.items():
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / "memory.max").write_text(f"{limit}\n")
    own = root / "own"
    own.write_text("0::/system.slice/server-ng.service\n")
    return own


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, None),
        ({"system.slice/server-ng.service": "max"}, None),
        ({"system.slice/server-ng.service": str(512 * _MIB)}, 512 * _MIB),
        ({"system.slice/server-ng.service": "max", "system.slice": str(256 * _MIB)}, 256 * _MIB),
        ({"system.slice/server-ng.service": str(_MIB), "system.slice": str(256 * _MIB)}, _MIB),
    ],
)
def test_the_lowest_limit_around_counts(tmp_path: Path, limits: dict[str, str], expected: int | None) -> None:
    assert limit_of_group(_group(tmp_path, limits), tmp_path) == expected


def test_without_control_groups_there_is_no_limit(tmp_path: Path) -> None:
    assert limit_of_group(tmp_path / "missing", tmp_path) is None
    old = tmp_path / "old"
    old.write_text("4:memory:/system.slice\n")
    assert limit_of_group(old, tmp_path) is None


def test_the_machine_has_memory() -> None:
    assert usable_memory() > 0


def test_shards_share_what_is_kept_and_a_small_machine_keeps_less() -> None:
    assert poll_cache_bytes(512 * _MIB, 1 << 40, 4) == 128 * _MIB
    assert poll_cache_bytes(512 * _MIB, 1024 * _MIB, 2) == 64 * _MIB
    assert poll_cache_bytes(0, 1 << 40, 1) == 0
