"""The settings of an engine as lines."""

from dataclasses import fields
from pathlib import Path

import pytest

from server_ng.engine.errors import EngineError
from server_ng.engine.settings import EngineSettings
from tests.support.engines import engine_settings


def test_every_field_is_a_line(tmp_path: Path) -> None:
    text = engine_settings(tmp_path, shard_cpus=(3, None)).lines()
    lines = dict(line.split("=", 1) for line in text.splitlines())
    assert set(lines) == {field.name for field in fields(EngineSettings)}
    assert lines["shard_cpus"] == "3,-"
    assert lines["tcp_address"] == "127.0.0.1:0"
    assert lines["crash_file"] == str(tmp_path / "last_crash.json")
    assert lines["notify_socket"] == ""


@pytest.mark.parametrize("name", ["one\ntwo=3", "bell\a", "\u2028"])
def test_a_value_that_would_not_stay_on_its_line_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(EngineError):
        engine_settings(tmp_path, cluster_name=name).lines()
