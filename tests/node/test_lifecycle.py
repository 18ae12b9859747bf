"""Starting, stopping, being killed and starting again."""

import json
import signal
from pathlib import Path

import pytest

from tests.support.fixtures import StartNode
from tests.support.frames import Reply
from tests.support.node import ROOT_CREDENTIAL, Node, faulty
from tests.support.raw import RawClient
from tests.support.waiting import until

FOREVER_MILLIS = 600_000


def test_ready_means_served_at_the_written_addresses(start_node: StartNode, backend: str) -> None:
    node = start_node(settings={"system.io.backend": backend})
    assert node.endpoints["pid"] == node.pid
    with node.connect_registered() as client:
        client.ping()
    assert json.loads(node.http("/ready")) == {"ready": True, "reasons": []}
    assert json.loads(node.http("/live")) == {"live": True, "reasons": []}
    assert node.log("opened")[0]["backend"] == backend
    assert node.log("server_ready")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_cleanly(start_node: StartNode, backend: str, number: signal.Signals) -> None:
    node = start_node(settings={"system.io.backend": backend})
    with node.connect_registered() as member, node.connect() as stranger:
        node.signal(number)
        assert node.wait() == 0
        assert member.rest() == b""
        assert stranger.rest() == b""
    assert node.log("stopping")[0]["signal"] == number.name
    assert node.log("stopped")[0]["status"] == 0
    assert node.stderr() == ""
    assert not (node.runtime / "last_crash.json").exists()


def test_a_login_under_way_is_answered_before_the_stop(start_node: StartNode) -> None:
    node = start_node(faulty("freeze 3"))
    with node.connect_registered() as member, node.connect() as client:
        node.signal(signal.SIGUSR1)
        client.send_login()
        # The shard that answers these has seen the login before, which waits for the frozen control plane.
        for _ in range(3):
            member.ping()
        node.signal(signal.SIGTERM)
        assert isinstance(client.read_login(), Reply)
        assert client.session
    assert node.wait() == 0


def test_kill_9_harms_nothing(start_node: StartNode, backend: str) -> None:
    node = start_node(settings={"system.io.backend": backend})
    before = 0
    for _ in range(3):
        with node.connect_registered() as client:
            assert client.session > before
            before = client.session
            assert node.kill() == -signal.SIGKILL
        node.restart()
    assert node.terminate() == 0


def test_the_same_ports_can_be_taken_again_at_once(start_node: StartNode) -> None:
    node = start_node()
    same = {"tcp.address": node.tcp, "observe.address": str(node.endpoints["observe"])}
    with node.connect_registered():
        node.kill()
        node.restart(same)
    with node.connect_registered() as client:
        client.ping()


def test_addresses_are_written_for_as_long_as_they_are_good(make_node: StartNode) -> None:
    node = make_node()
    node.runtime.mkdir(parents=True)
    written = node.runtime / "endpoints.json"
    written.write_text('{"tcp": "the address of a run that was killed"}')
    node.start()
    assert node.endpoints["pid"] == node.pid
    assert node.terminate() == 0
    assert not written.exists()


def stuck(client: RawClient) -> bool:
    """Whether the server has stopped to answer this client."""
    if client.hears_within(0):
        client.read()
        client.send(client.prepare(1).encode())
    return not client.hears_within(1)


def stick(node: Node, client: RawClient) -> None:
    """Makes the first shard stand still; the client waits for an answer from then on."""
    client.send(client.prepare(1).encode())
    node.signal(signal.SIGUSR1)
    until(lambda: stuck(client), "the shard stands still")


def test_a_second_signal_ends_it_at_once(start_node: StartNode) -> None:
    node = start_node(faulty(f"stall {FOREVER_MILLIS}"))
    with node.connect_registered() as client:
        stick(node, client)
        node.signal(signal.SIGTERM)
        node.wait_for_log("stopping")
        node.signal(signal.SIGTERM)
        assert node.wait() == 75
    assert "SIGTERM during the stop: ending at once" in node.stderr()


def test_a_stop_that_takes_too_long_is_given_up(start_node: StartNode) -> None:
    limits = {
        "system__sharding__shutdown_drain_timeout": "100ms",
        "system__sharding__shutdown_join_timeout": "200ms",
    }
    node = start_node(faulty(f"stall {FOREVER_MILLIS}", **limits))
    with node.connect_registered() as client:
        stick(node, client)
        assert node.terminate() == 75
    assert node.log("stopped_unclean")[0]["status"] == 75


def test_hangup_changes_the_level_and_names_what_waits(make_node: StartNode, tmp_path: Path) -> None:
    config = tmp_path / "server.toml"
    config.write_text("[system.logging]\nlevel = 'warn'\n")
    environment = {**ROOT_CREDENTIAL, "IGGY_CONFIG_PATH": str(config)}
    node = make_node(environment=environment).start()
    assert node.log("server_ready") == []
    config.write_text("[system.logging]\nlevel = 'info'\n[connections]\nmax = 9999\n")
    node.signal(signal.SIGHUP)
    reloaded = node.wait_for_log("reloaded")
    assert (reloaded["applied"], reloaded["needs_restart"]) == (["system.logging.level"], ["connections.max"])
    config.write_text("[system.logging\n")
    node.signal(signal.SIGHUP)
    assert str(config) in str(node.wait_for_log("reload_refused")["faults"])
    with node.connect_registered() as client:
        client.ping()
    assert node.terminate() == 0


def test_hangup_says_what_it_did_when_it_makes_the_log_quieter(make_node: StartNode, tmp_path: Path) -> None:
    config = tmp_path / "server.toml"
    config.write_text("[system.logging]\nlevel = 'info'\n")
    environment = {**ROOT_CREDENTIAL, "IGGY_CONFIG_PATH": str(config)}
    node = make_node(environment=environment).start()
    config.write_text("[system.logging]\nlevel = 'error'\n")
    node.signal(signal.SIGHUP)
    assert node.wait_for_log("reloaded")["applied"] == ["system.logging.level"]
    assert node.terminate() == 0
    assert node.log("stopping") == []
