"""A sealed segment is held against what the list of segments says of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from server_ng import binding
from server_ng.bootstrap.stored_topic import read_segment
from tests.support.storage_reader import golden_file

_FOOTER = json.loads(
    binding.describe_file("segment", 0, len(golden_file("segment")), golden_file("segment"))[0].splitlines()[
        -1
    ]
)["checksum"]
_ENTRY = {
    "file": "segment.log",
    "generation": 0,
    "sealed": True,
    "base_offset": 100,
    "last_offset": 110,
    "messages": 4,
    "footer": _FOOTER,
}


def damage(folder: Path, content: bytes, **said: Any) -> str:
    """What is found wrong with a segment of which the list says this."""
    (folder / "segment.log").write_bytes(content)
    return read_segment(folder, _ENTRY | said, None).damage


def test_a_segment_as_it_is_listed_is_right(tmp_path: Path) -> None:
    assert damage(tmp_path, golden_file("segment")) == ""


@pytest.mark.parametrize(
    "said", [{"messages": 9}, {"last_offset": 111}, {"footer": "0" * 32}, {"base_offset": 99}], ids=str
)
def test_another_segment_in_its_place_is_damage(tmp_path: Path, said: dict[str, Any]) -> None:
    assert damage(tmp_path, golden_file("segment"), **said) != ""


def test_a_compacted_segment_may_lack_the_ends_of_its_range(tmp_path: Path) -> None:
    wider = {"base_offset": 90, "last_offset": 120}
    assert damage(tmp_path, golden_file("segment"), generation=1, **wider) == ""
    assert damage(tmp_path, golden_file("segment"), generation=0, **wider) != ""
    within = {"base_offset": 101, "last_offset": 109}
    assert damage(tmp_path, golden_file("segment"), generation=1, **within) != ""


@pytest.mark.parametrize("length", [0, 300, 4_981, 8_192, 8_200])
def test_a_sealed_segment_that_is_cut_is_damage(tmp_path: Path, length: int) -> None:
    assert damage(tmp_path, golden_file("segment")[:length]) != ""


def test_what_a_crash_left_behind_the_last_batch_is_none(tmp_path: Path) -> None:
    torn = golden_file("segment")[:4_900]
    assert damage(tmp_path, torn, sealed=False) == ""
    (tmp_path / "segment.log").write_bytes(torn)
    assert read_segment(tmp_path, _ENTRY | {"sealed": False}, 102).damage == ""
    assert read_segment(tmp_path, _ENTRY | {"sealed": False}, 110).damage != ""
