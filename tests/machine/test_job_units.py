"""The units of scheduled jobs: what systemd makes of them."""

import subprocess
from pathlib import Path

import pytest

from tests.machine.unit_file import exposure, values

JOBS = ("compact", "export")
INSTANCE = "orders-events"
EXPOSURE_MAX = 1.5


def unit_path(root: Path, job: str, kind: str = "service") -> Path:
    return root / "deploy" / "systemd" / f"server-ng-{job}@.{kind}"


@pytest.mark.parametrize("job", JOBS)
def test_systemd_understands_every_line(root: Path, tmp_path: Path, job: str) -> None:
    for kind in ("service", "timer"):
        text = unit_path(root, job, kind).read_text()
        text = text.replace("/opt/server-ng/bin/server-ng", "/bin/true").replace("Requisite=", "#")
        (tmp_path / f"server-ng-{job}@{INSTANCE}.{kind}").write_text(text)
    names = [tmp_path / f"server-ng-{job}@{INSTANCE}.{kind}" for kind in ("service", "timer")]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *names], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("job", JOBS)
def test_a_job_is_sealed(root: Path, tmp_path: Path, job: str) -> None:
    instance = tmp_path / f"server-ng-{job}@{INSTANCE}.service"
    instance.write_text(unit_path(root, job).read_text())
    assert exposure(instance) <= EXPOSURE_MAX


@pytest.mark.parametrize("job", JOBS)
def test_a_job_is_the_servers_user(root: Path, job: str) -> None:
    unit = unit_path(root, job).read_text()
    server = (root / "deploy" / "systemd" / "server-ng.service").read_text()
    assert values(unit, "User") == ["server-ng"]
    (directories,) = values(unit, "StateDirectory")
    assert set(values(server, "StateDirectory")) <= set(directories.split())
    assert values(unit, "StateDirectoryMode") == values(server, "StateDirectoryMode")


def test_statuses_that_mean_no_harm_are_successes(root: Path) -> None:
    assert values(unit_path(root, "compact").read_text(), "SuccessExitStatus") == ["3 4"]
    assert values(unit_path(root, "export").read_text(), "SuccessExitStatus") == ["3"]
