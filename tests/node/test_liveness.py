"""A control plane that stands still, and shards that do: what goes on, what is said, and when it ends."""

import signal

import pytest

from server_ng.wire.tables import ErrorCode
from tests.support.fixtures import LONG, StartNode
from tests.support.frames import Reply
from tests.support.node import Node, Plan, faulty
from tests.support.sticking import FOREVER_MILLIS, sharded
from tests.support.waiting import until

FROZEN_SECONDS = 20 if LONG else 8
WATCHDOG = {"WATCHDOG_USEC": "1500000"}


SHARDS = sharded(2)


def watched(fault: str, **settings: str) -> Plan:
    """A server to which a fault can happen, under the eyes of a service manager."""
    plan = faulty(fault, **settings)
    return Plan(plan.settings, {**plan.environment, **WATCHDOG}, plan.start)


def fed(node: Node) -> bool:
    """Whether the watchdog is fed from now on."""
    node.notify.forget()
    return node.notify.wait_for("WATCHDOG=1", node.process)


def test_a_frozen_control_plane_costs_no_session(start_node: StartNode, backend: str) -> None:
    limits = {"control_plane__stall_dump": "2s", "system__io__backend": backend}
    node = start_node(watched(f"freeze {FROZEN_SECONDS}", **limits))
    with node.connect_registered() as member, node.connect() as stranger:
        node.signal(signal.SIGUSR1)
        until(lambda: "in _freeze" in node.stderr(), "the stacks of Python on standard error")
        # From here on everything happens while the control plane is frozen: its log says nothing yet.
        member.ping()
        stranger.ping()
        assert member.command(22).status == 0
        assert fed(node)
        stranger.send_login()
        assert not node.log("control_plane_stalled")
        stranger.read_login()
        assert stranger.session
        member.ping()
    stalled = node.wait_for_log("control_plane_stalled")
    recovered = node.wait_for_log("control_plane_recovered")
    assert 2000 <= stalled["stall_ms"] < FROZEN_SECONDS * 1000
    assert recovered["event_micros"] > stalled["event_micros"]
    assert fed(node)
    assert node.stderr().count("in _freeze") == 1
    assert node.terminate() == 0


def test_a_control_plane_frozen_for_too_long_starves_the_watchdog(start_node: StartNode) -> None:
    limits = {"control_plane__stall_dump": "2s", "control_plane__stall_max": "3s"}
    node = start_node(watched("freeze 10", **limits))
    assert fed(node)
    node.signal(signal.SIGUSR1)
    until(lambda: node.notify.silent_for(3), "the watchdog is not fed any more")
    node.wait_for_log("control_plane_recovered")
    assert fed(node)
    assert node.terminate() == 0


@pytest.mark.parametrize("shard", [0, 1])
def test_a_stuck_shard_starves_the_watchdog(start_node: StartNode, shard: int) -> None:
    node = start_node(watched(f"stall {FOREVER_MILLIS} {shard}", **SHARDS))
    assert fed(node)
    node.signal(signal.SIGUSR1)
    stalled = node.wait_for_log("shard_stalled")
    assert stalled["shard"] == shard
    assert node.notify.silent_for(3)
    # As a service manager does then.
    assert node.kill() == -signal.SIGKILL


@pytest.mark.parametrize(
    ("fault", "thread", "reason"),
    [
        ("panic 0", "shard-0", "panic"),
        ("panic 1", "shard-1", "panic"),
        ("callback", "control plane", "a fault that a test asked for"),
    ],
)
def test_a_fault_of_ours_ends_it_and_is_told_at_the_next_start(
    start_node: StartNode, fault: str, thread: str, reason: str
) -> None:
    node = start_node(faulty(fault, **SHARDS))
    with node.connect_registered() as client:
        node.signal(signal.SIGUSR1)
        assert node.wait() == 70
        client.rest()
    crash = node.last_crash()
    assert (crash["status"], crash["thread"]) == (70, thread)
    assert reason in crash["reason"]
    node.restart()
    told = node.log("last_crash")[0]
    assert {key: told[key] for key in crash} == crash
    with node.connect_registered() as client:
        client.ping()
    assert node.terminate() == 0


@pytest.mark.parametrize("shard", [0, 1])
def test_a_panic_writes_one_line(start_node: StartNode, shard: int) -> None:
    node = start_node(faulty(f"panic {shard}", **SHARDS))
    node.signal(signal.SIGUSR1)
    assert node.wait() == 70
    (line,) = node.stderr().splitlines()
    assert line.startswith(f"server-ng: fatal: shard-{shard}: panic: ")
    assert line.endswith("(exit status 70)")


def test_a_task_that_fails_ends_the_process(start_node: StartNode) -> None:
    node = start_node(faulty("task"))
    with node.connect() as client:
        client.send_login()
        answer = client.read_login()
        assert isinstance(answer, Reply)
        assert answer.rejection == ErrorCode.TRANSIENT_NOT_ACCEPTED
        assert node.wait() == 70
    assert node.log("internal_fault")
    assert "login" in node.last_crash()["reason"]


def test_a_service_manager_that_does_not_listen_harms_nobody(start_node: StartNode) -> None:
    """Nobody reads the socket from here on, and it is full after a few signs of life."""
    node = start_node(Plan(environment={**Plan().environment, "WATCHDOG_USEC": "30000"}))
    until(node.notify.full, "the socket is full")
    with node.connect_registered() as client:
        client.ping()
    assert node.terminate() == 0


def test_it_says_what_it_does_to_the_service_manager(start_node: StartNode) -> None:
    node = start_node()
    said = [line.removeprefix("STATUS=") for line in node.notify.heard if line.startswith("STATUS=")]
    assert said == [
        "opening the data directory",
        "founding the data directory",
        "recovered 1 of 1 shards",
        "bringing partitions to what the metadata says",
        f"serving TCP clients on {node.tcp}",
    ]
    assert any(line.startswith("EXTEND_TIMEOUT_USEC=") for line in node.notify.heard)
    node.signal(signal.SIGTERM)
    assert node.notify.wait_for("STOPPING=1", node.process)
    assert node.wait() == 0
