"""What the units of scheduled jobs run is a command."""

import shlex
from pathlib import Path

import pytest

from server_ng.spark.command import main


@pytest.mark.parametrize("job", ["compact", "export"])
def test_the_command_of_a_unit_goes_as_far_as_the_server(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], job: str
) -> None:
    unit = (root / "deploy" / "systemd" / f"server-ng-{job}@.service").read_text()
    (line,) = (line for line in unit.splitlines() if line.startswith("ExecStart="))
    known = {"%S": str(tmp_path), "%I": "orders/events", "%i": "orders-events"}
    for specifier, value in known.items():
        line = line.replace(specifier, value)
    _, spark, *words = shlex.split(line.rpartition(" $")[0])
    assert spark == "spark"
    assert main(words) == 75
    assert "no server listens" in capsys.readouterr().err
