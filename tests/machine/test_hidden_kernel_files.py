"""A server whose container hides /proc or /sys: it serves, and figures from there are zero."""

import json
from pathlib import Path

import pytest

from tests.support.fixtures import StartNode


def without(*folders: str) -> list[str | Path]:
    """A command under which these folders are empty."""
    hidden = " ".join(f"mount -t tmpfs none {folder} &&" for folder in folders)
    return ["unshare", "--mount", "sh", "-c", f'{hidden} exec "$@"', "sh"]


@pytest.mark.parametrize("folders", [("/proc",), ("/sys",), ("/proc", "/sys")])
@pytest.mark.parametrize("cpus", ["auto", "2"])
def test_it_serves(start_node: StartNode, backend: str, folders: tuple[str, ...], cpus: str) -> None:
    settings = {"system.io.backend": backend, "system.sharding.cpu_allocation": cpus}
    node = start_node(settings=settings, under=without(*folders))
    assert json.loads(node.http("/ready"))["ready"]
    assert node.counters().total("server_ng_data_disk_free_bytes") > 0
    with node.connect_registered() as client:
        client.ping()
        assert client.command(10).status == 0
    node.kill()
    node.start()
    assert node.terminate() == 0
    assert node.stderr() == ""


def test_an_allocation_that_needs_them_is_refused(make_node: StartNode) -> None:
    settings = {"system.sharding.cpu_allocation": "numa:nodes=0"}
    node = make_node(settings=settings, under=without("/sys"))
    assert node.launch().wait() == 78
    assert "system.sharding.cpu_allocation" in node.stderr()
