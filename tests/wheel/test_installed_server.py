"""The wheel works in an empty environment, far from the tree it was built in."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.notify_socket import NotifySocket
from tests.wheel.conftest import Installation

pytestmark = pytest.mark.timeout(900)

# Far above any honest stop: a guard against hanging, not a measurement.
_STOPPED_WITHIN = 60.0


@pytest.fixture
def notifications(tmp_path: Path) -> Iterator[NotifySocket]:
    """The socket on which a service manager hears of readiness."""
    with NotifySocket(tmp_path) as listener:
        yield listener


def test_version_is_that_of_the_wheel(installation: Installation, wheel: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [installation.command, "version"],
        cwd=tmp_path,
        env=installation.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert wheel.name.split("-")[1] in done.stdout


def test_serves_until_it_is_told_to_stop(
    installation: Installation, notifications: NotifySocket, tmp_path: Path
) -> None:
    settings = [f"system.path={tmp_path / 'data'}", "tcp.address=127.0.0.1:0", "observe.address=127.0.0.1:0"]
    log = tmp_path / "log"
    with log.open("w") as output:
        server = subprocess.Popen(
            [installation.command, "serve", *(word for setting in settings for word in ("--set", setting))],
            cwd=tmp_path,
            env=installation.environment | notifications.environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
        )
    try:
        ready = notifications.wait_for("READY=1", server)
        server.terminate()
        status = server.wait(_STOPPED_WITHIN)
    finally:
        server.kill()
    assert (ready, status) == (True, 0), log.read_text()
