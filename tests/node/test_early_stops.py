"""A stop before the server is ready: whenever it is asked for, the start ends in order."""

import signal
from pathlib import Path

import pytest

from tests.support.fixtures import StartNode
from tests.support.held_open import HeldOpen
from tests.support.node import Node
from tests.support.waiting import until

STOPS = [signal.SIGTERM, signal.SIGINT]


def catches(node: Node, number: signal.Signals) -> bool:
    """Whether the process has a handler for a signal."""
    lines = Path(f"/proc/{node.pid}/status").read_text().splitlines()
    (caught,) = (line.split()[1] for line in lines if line.startswith("SigCgt:"))
    return bool(int(caught, 16) >> (number - 1) & 1)


def stopped_in_order(node: Node, number: signal.Signals) -> None:
    """Asks for a stop, and checks that the process ends as after any other."""
    node.signal(number)
    assert node.wait() == 0, node.stdout()
    assert node.log("stopping")[0]["signal"] == number.name
    assert node.log("stopped")[0]["status"] == 0
    assert node.log("server_ready") == []
    assert node.stderr() == ""
    assert not (node.runtime / "endpoints.json").exists()
    assert not (node.runtime / "control.sock").exists()
    assert not (node.runtime / "last_crash.json").exists()


@pytest.mark.parametrize("number", STOPS)
def test_a_stop_while_the_program_is_loaded(make_node: StartNode, number: signal.Signals) -> None:
    node = make_node().launch()
    until(lambda: catches(node, signal.SIGHUP), "a handler of the process")
    node.signal(signal.SIGHUP)
    stopped_in_order(node, number)
    assert not node.data.exists()


@pytest.mark.parametrize("number", STOPS)
def test_a_stop_while_a_directory_is_founded(
    make_node: StartNode, backend: str, number: signal.Signals
) -> None:
    # Larger files take longer to found.
    large = {"message_bus.max_message_size": "64 MiB", "system.io.backend": backend}
    node = make_node(settings=large).launch()
    node.wait_for_log("opened")
    node.signal(signal.SIGHUP)
    stopped_in_order(node, number)
    node.start()
    assert node.terminate() == 0


@pytest.mark.parametrize("number", STOPS)
def test_a_stop_while_a_shard_recovers(start_node: StartNode, backend: str, number: signal.Signals) -> None:
    limits = {"system.sharding.shutdown_drain_timeout": "100ms", "system.io.backend": backend}
    node = start_node(settings=limits)
    with node.connect_registered() as client:
        session = client.session
    node.kill()
    # The shard waits in the kernel for its journal, for up to 45 s.
    with HeldOpen(node.data / "shards" / "00000001-00000000" / "journal-00000000") as held:
        node.launch()
        held.wait()
        node.signal(signal.SIGHUP)
        node.wait_for_log("reloaded")
        stopped_in_order(node, number)
    node.start()
    with node.connect_registered() as client:
        assert client.session > session
    assert node.terminate() == 0


def test_a_stop_while_the_directory_is_held(start_node: StartNode, make_node: StartNode) -> None:
    owner = start_node()
    second = make_node(settings={"system.path": str(owner.data)}).launch()
    until(lambda: catches(second, signal.SIGHUP), "a handler of the process")
    second.signal(signal.SIGTERM)
    # Which comes first is chance: a refusal is an end in order, too.
    assert second.wait() in (0, 78)
    with owner.connect_registered() as client:
        client.ping()
    assert owner.terminate() == 0
