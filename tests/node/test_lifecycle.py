"""Starting, stopping, being killed and starting again."""

import json
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.fixtures import StartNode
from tests.support.frames import Reply
from tests.support.node import ROOT_CREDENTIAL, faulty
from tests.support.sticking import FOREVER_MILLIS, sharded, stick

CLIENTS = 22


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


@pytest.mark.parametrize("shards", [1, 2, 4])
def test_logins_under_way_are_answered_before_the_stop(start_node: StartNode, shards: int) -> None:
    node = start_node(faulty("freeze 3", **sharded(shards)))
    with ExitStack() as stack:
        # Connections are dealt to the shards in turn: each has a member and a client.
        members = [stack.enter_context(node.connect_registered()) for _ in range(shards)]
        clients = [stack.enter_context(node.connect()) for _ in range(shards)]
        node.signal(signal.SIGUSR1)
        for client in clients:
            client.send_login()
        # Before these the first shard got the logins, which wait for the frozen control plane.
        for member in members * 3:
            assert member.command(CLIENTS).status == 0
        node.signal(signal.SIGTERM)
        for client in clients:
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


def test_the_first_shard_answers_the_others_before_the_stop(start_node: StartNode) -> None:
    node = start_node(faulty("stall 4000 0", **sharded(2)))
    # The client of the second shard waits for the first one, which finds the stop and the request together.
    with node.connect(), node.connect_registered() as client:
        stick(node, client, CLIENTS)
        node.signal(signal.SIGTERM)
        reply = client.read()
        assert isinstance(reply, Reply)
        assert reply.status == 0
    assert node.wait() == 0
    assert node.log("answers_cut") == []


def test_the_first_shard_stops_after_the_others(start_node: StartNode) -> None:
    """Aim: it takes frames of the others during their stop. Method: a shard that stands still until
    the first one has nothing else to wait for reports more closed connections than a mailbox holds.
    """
    node = start_node(faulty("stall 4000 1", system__sharding__inbox_capacity="64", **sharded(2)))
    with ExitStack() as stack:
        clients = [stack.enter_context(node.connect()) for _ in range(2 * 100)]
        for client in clients:
            client.ping()
        stick(node, clients[1])
        assert node.terminate() == 0


def test_a_second_signal_ends_it_at_once(start_node: StartNode) -> None:
    node = start_node(faulty(f"stall {FOREVER_MILLIS} 0"))
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
    node = start_node(faulty(f"stall {FOREVER_MILLIS} 0", **limits))
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
