"""The file of addresses: whole or absent."""

import json
import os
from pathlib import Path

from server_ng.bootstrap.endpoints import forget_endpoints, write_endpoints
from server_ng.bootstrap.runtime_files import RuntimeFiles


def test_addresses_are_written_and_forgotten(tmp_path: Path) -> None:
    write_endpoints(tmp_path, {"tcp": "127.0.0.1:8090"}, "[tcp]\n", RuntimeFiles())
    written = json.loads((tmp_path / "endpoints.json").read_text())
    assert written == {"pid": os.getpid(), "tcp": "127.0.0.1:8090"}
    assert (tmp_path / "current_config.toml").read_text() == "[tcp]\n"
    assert (tmp_path / "current_config.toml").stat().st_mode & 0o777 == 0o600
    forget_endpoints(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nothing_to_forget_is_fine(tmp_path: Path) -> None:
    forget_endpoints(tmp_path)
