"""A founding that has no room names the bytes that it needs."""

from pathlib import Path

import pytest

from server_ng.bootstrap.errors import StartError
from server_ng.bootstrap.founding_room import check_founding_room
from server_ng.wire.tables import ExitStatus

MIB = 1 << 20
# No file system has 256 TiB free.
SHARDS = 1 << 20


def test_room_that_is_missing_is_told_in_bytes_with_the_setting(tmp_path: Path) -> None:
    with pytest.raises(StartError) as refused:
        check_founding_room(tmp_path, SHARDS, 64 * MIB)
    assert refused.value.status is ExitStatus.JOURNAL_IO
    assert f"({SHARDS}) need {SHARDS * 256 * MIB} bytes" in refused.value.sentence
    assert "set a message_bus.max_message_size below 64 MiB" in refused.value.sentence


def test_a_directory_that_has_room_or_is_founded_is_not_refused(tmp_path: Path) -> None:
    check_founding_room(tmp_path, 1, 1)
    (tmp_path / "LAYOUT").write_bytes(b"")
    check_founding_room(tmp_path, SHARDS, 64 * MIB)
