"""Starts that cannot go on: each is named, costs nothing, and ends with the status of a configuration."""

import json
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.fixtures import StartNode
from tests.support.node import UNPRIVILEGED_START, Node

CONFIGURATION = 78


def refused(node: Node) -> str:
    """Starts a server that must refuse to, and returns what it says to who started it."""
    assert node.launch().wait() == CONFIGURATION, node.stdout()
    assert not (node.runtime / "endpoints.json").exists()
    return node.stderr()


def test_a_data_directory_in_use_names_its_owner(start_node: StartNode, make_node: StartNode) -> None:
    owner = start_node()
    second = make_node(settings={"system.path": str(owner.data)})
    said = refused(second)
    assert str(owner.data) in said
    assert f"process {owner.pid}" in said
    with owner.connect_registered() as client:
        client.ping()


def test_a_directory_whose_owner_is_gone_is_free(start_node: StartNode, make_node: StartNode) -> None:
    owner = start_node()
    owner.kill()
    heir = make_node(settings={"system.path": str(owner.data)})
    heir.runtime = owner.runtime
    heir.start()
    assert heir.terminate() == 0


@pytest.mark.parametrize("key", ["tcp.address", "observe.address"])
def test_a_port_in_use_is_named_before_anything_is_made(make_node: StartNode, key: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        node = make_node(settings={key: address}, environment={})
        said = refused(node)
    assert address in said
    assert key in said
    # The password comes with the root user, which is made last.
    assert not (node.runtime / "root-password").exists()


def test_only_a_configured_address_of_metrics_must_be_free(make_node: StartNode) -> None:
    with socket.socket() as taken:
        # Another process of this machine may have it, which is as good.
        with suppress(OSError):
            taken.bind(("127.0.0.1", 9464))
            taken.listen()
        by_default = make_node(settings={"observe.address": None}).start()
        configured = make_node(settings={"observe.address": "127.0.0.1:9464"})
        assert "127.0.0.1:9464 (observe.address) cannot be bound" in refused(configured)
    found = str(by_default.endpoints["observe"])
    assert found.startswith("127.0.0.1:")
    assert found != "127.0.0.1:9464"
    (line,) = by_default.log("observe_address_taken")
    assert (line["default"], line["observe"]) == ("127.0.0.1:9464", found)
    assert json.loads(by_default.http("/ready"))["ready"]
    assert by_default.terminate() == 0


def test_two_servers_need_only_differ_in_data_and_tcp_address(make_node: StartNode) -> None:
    servers = [make_node(settings={"observe.address": None}).start() for _ in range(2)]
    assert servers[0].endpoints["observe"] != servers[1].endpoints["observe"]
    for server in servers:
        assert json.loads(server.http("/ready"))["ready"]
        with server.connect_registered() as client:
            client.ping()


def test_an_address_of_another_machine_is_refused(make_node: StartNode) -> None:
    said = refused(make_node(settings={"tcp.address": "192.0.2.1:8090"}))
    assert "192.0.2.1:8090 cannot be bound" in said
    assert "This machine has no such address: set tcp.address " in said


@pytest.mark.parametrize("key", ["tcp.address", "observe.address"])
def test_a_port_for_which_a_capability_is_missing_is_told_with_it(
    make_node: StartNode, free_for_all: Path, key: str
) -> None:
    settings = {"system.path": str(free_for_all), key: "127.0.0.1:80"}
    said = refused(make_node(settings=settings, start=UNPRIVILEGED_START))
    assert "127.0.0.1:80 " in said
    assert f"CAP_NET_BIND_SERVICE: grant it, or set {key} to a higher port" in said


@pytest.fixture
def forbidden() -> Iterator[Path]:
    """A directory that its parent leads to and that only its owner may use, who is not the server."""
    # Not below pytest's own folder, into which nobody but its owner may go.
    folder = Path(tempfile.mkdtemp(prefix="server-ng-"))
    folder.chmod(0o755)
    inside = folder / "data"
    inside.mkdir(mode=0o755 if os.geteuid() == 0 else 0o500)
    yield inside
    inside.chmod(0o700)
    shutil.rmtree(folder)


@pytest.fixture
def free_for_all(forbidden: Path) -> Path:
    """A directory that every user may use."""
    forbidden.chmod(0o777)
    return forbidden


def test_a_runtime_directory_that_cannot_be_written_is_named(
    make_node: StartNode, free_for_all: Path
) -> None:
    runtime = free_for_all / "runtime"
    runtime.mkdir(mode=0o555)
    said = refused(make_node(settings={"system.path": str(free_for_all)}, start=UNPRIVILEGED_START))
    assert f"The directory {runtime} cannot be written" in said
    assert "set system.runtime.path" in said


@pytest.mark.parametrize("below", [".", "deeper"])
def test_a_directory_without_permission_is_named(make_node: StartNode, forbidden: Path, below: str) -> None:
    node = make_node(settings={"system.path": str(forbidden / below)}, start=UNPRIVILEGED_START)
    said = refused(node)
    assert str(forbidden) in said
    assert "Permission denied" in said


def test_a_file_in_place_of_the_directory_is_named(make_node: StartNode, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for path in (file, file / "below" / "it"):
        said = refused(make_node(settings={"system.path": str(path)}))
        assert f"The directory {path} cannot be made: {file} is no directory." in said
        assert "Set system.path" in said


def test_ten_faults_are_reported_at_once(make_node: StartNode) -> None:
    faults = {
        "tcp.address": "nowhere",
        "tcp.enabled": "perhaps",
        "system.io.backend": "kqueue",
        "system.sharding.cpu_allocation": "9..3",
        "system.sharding.inbox_capacity": "1",
        "system.logging.level": "loud",
        "connections.max": "-1",
        "connections.frame_timeout": "soon",
        "message_bus.max_message_size": "1 TiB",
        "cluster.enabled": "true",
        "conections.max": "100",
    }
    node = make_node(settings=faults)
    said = refused(node)
    assert [key for key in faults if key not in said] == []
    assert "connections.max" in said
    assert not node.data.exists()


def test_more_shards_than_processors_need_leave_to_share(make_node: StartNode) -> None:
    node = make_node(settings={"system.sharding.cpu_allocation": "4096"})
    assert "pin_cores" in refused(node)


def test_data_of_iggy_is_left_as_it_is(make_node: StartNode, tmp_path: Path) -> None:
    node = make_node(settings={"system.path": str(tmp_path / "local_data")})
    log = tmp_path / "local_data" / "state" / "log"
    partition = tmp_path / "local_data" / "streams" / "0" / "topics" / "0" / "partitions" / "0"
    for folder in (log.parent, partition):
        folder.mkdir(parents=True)
    log.write_bytes(b"of the other server")
    before = sorted((tmp_path / "local_data").rglob("*"))
    said = refused(node)
    assert str(tmp_path / "local_data") in said
    assert "Apache Iggy" in said
    assert "system.path" in said
    assert sorted((tmp_path / "local_data").rglob("*")) == before
    (tmp_path / "local_data").rename(tmp_path / "old_data")
    node.runtime = tmp_path / "local_data" / "runtime"
    node.start()
    assert node.terminate() == 0
