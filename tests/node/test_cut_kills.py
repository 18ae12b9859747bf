"""Cuts that are killed at any call that writes, of a server and of the command in its place."""

import json
import re
import shutil
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from server_ng.segments.lease import Lease
from tests.support.batches import batch
from tests.support.control import Control
from tests.support.fixtures import BACKENDS, LONG, StartNode
from tests.support.kill_at_call import KILLED, killer
from tests.support.lease_command import lease_command
from tests.support.leased_messages import leased_messages
from tests.support.node import Node
from tests.support.topic_client import Message, Place, TopicClient
from tests.support.waiting import until

PLACE = Place("stream", "topic")
PARTITIONS = 2
CUT = {"stream": PLACE.stream, "topic": PLACE.topic, "ttl": 600}
PLACES = 4
"""Of the short form."""

pytestmark = pytest.mark.timeout(7_200 if LONG else 240)


class KilledCuts:
    """A topic that grows, and what clients were told is in it; its server runs only while it is looked at."""

    def __init__(self, node: Node, backend: str) -> None:
        self.node, self.backend = node, backend
        self.acknowledged: dict[int, list[Message]] = {}
        self._sent = 0

    def send(self) -> None:
        """Adds messages that are in no segment yet; a cut has to write them out."""
        with TopicClient(self.node.connect_registered()) as client:
            if not self._sent:
                client.create_stream(PLACE.stream)
                client.create_topic(PLACE, PARTITIONS, 1 << 20)
            self._sent += 1
            for partition in range(PARTITIONS):
                payloads = [f"{partition}/{self._sent}/{number}".encode() * 200 for number in range(20)]
                reply = client.send(PLACE, partition, batch(payloads), len(payloads))
                assert reply.status == 0, reply
            self.acknowledged = self._polled(client)

    def check(self, answered: str | None) -> None:
        """Holds a server that starts now against all of it; `answered` is the lease that was promised."""
        self.node.restart(under=())
        with TopicClient(self.node.connect_registered()) as client:
            assert self._polled(client) == self.acknowledged
        with Control(self.node.endpoints["control"]) as job:
            listed = [each["lease"] for each in job.ask("leases")["leases"]]
            assert sorted(path.name for path in (self.node.data / "leases").glob("*")) == sorted(listed)
            assert answered is None or answered in listed
            for name in listed:
                self._check_lease(self.node.data / "leases" / name)
                assert job.ask("renew", lease=name, ttl=900)["ok"]
                assert job.ask("release", lease=name)["ok"]
            fresh = job.cut(PLACE.stream, PLACE.topic)
            assert leased_messages(fresh) == self.acknowledged
            held = sorted(segment.path for cut in Lease.read(fresh).partitions for segment in cut.segments)
            until(lambda: self._segments() == held, f"only {held} are left")
            assert job.ask("release", lease=fresh.name)["ok"]
            assert not list(fresh.parent.iterdir())
        self.node.kill()

    def _check_lease(self, path: Path) -> None:
        """One that survived is whole, and nothing lies beside what its manifest names."""
        assert leased_messages(path) == self.acknowledged
        named = {segment.path for cut in Lease.read(path).partitions for segment in cut.segments}
        files = {str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()}
        assert files == named | {"manifest.json", "expires"}

    def _segments(self) -> list[str]:
        found = (self.node.data / "groups").rglob("*.log")
        return sorted(f"{path.parent.name}/{path.name}" for path in found)

    def _polled(self, client: TopicClient) -> dict[int, list[Message]]:
        found: dict[int, list[Message]] = {}
        for partition in range(PARTITIONS):
            messages = found[partition] = []
            while more := client.poll(PLACE, partition, messages[-1].offset + 1 if messages else 0, 500, 1):
                messages += more
        return found


@pytest.fixture
def cuts(make_node: StartNode, request: pytest.FixtureRequest) -> KilledCuts:
    """Of a server that has messages in its journal, and has been stopped."""
    settings = {"system.sharding.cpu_allocation": "1", "system.sharding.pin_cores": "false"}
    node = make_node(settings={**settings, "system.io.backend": request.param})
    node.start()
    made = KilledCuts(node, request.param)
    made.send()
    node.kill()
    return made


def places(calls: int) -> Sequence[tuple[str, int]]:
    """Moments to kill at: each call before and behind, or some of them."""
    every = [(at, call) for call in range(1, calls + 1) for at in ("entry", "exit")]
    return every if LONG else [every[len(every) * number // PLACES + number % 2] for number in range(PLACES)]


def told(node: Node, times: int) -> Sequence[str]:
    """What the killer has said on so many signals: each line is calls and the last of them."""

    def lines() -> list[str]:
        return re.findall(r"^\d+ \w+$", node.stderr(), re.MULTILINE)

    until(lambda: len(lines()) >= times, "the killer counts")
    return lines()


def killed_server(cuts: KilledCuts, at: str, call: int) -> tuple[int, str | None, bool]:
    """Kills a server at a call of a cut; how many calls there were, the lease it told of, whether it died."""
    node = cuts.node
    node.restart(under=killer(at, call, from_signal=True))
    cuts.send()
    node.signal(signal.SIGUSR1)
    told(node, 1)
    answer: dict[str, Any] = {}
    with suppress(OSError), Control(node.endpoints["control"]) as job:
        answer = job.ask("cut", **CUT)
    assert answer.get("ok", True), answer
    if answer and node.process.poll() is None:
        # What runs beside the cut is not the same in every life.
        node.signal(signal.SIGUSR1)
        calls = int(told(node, 2)[1].split()[0])
        node.signal(signal.SIGTERM)
    else:
        calls = call
    status = node.wait()
    assert status in (0, KILLED), node.stderr()
    return calls, answer.get("lease"), status == KILLED


@pytest.mark.parametrize("cuts", BACKENDS if LONG else ["posix"], indirect=True)
def test_a_server_that_is_killed_at_any_writing_call_of_a_cut(cuts: KilledCuts) -> None:
    calls, lease, _ = killed_server(cuts, "entry", 0)
    assert lease is not None
    cuts.check(lease)
    kills = 0
    chosen = places(calls)
    for at, call in chosen:
        _, lease, died = killed_server(cuts, at, call)
        kills += died
        cuts.check(lease)
    assert kills >= len(chosen) // 2


def killed_command(cuts: KilledCuts, saved: Path, at: str, call: int) -> tuple[int, str | None, bool]:
    """The same of the command that cuts where no server runs, on the data that were saved."""
    data = cuts.node.data
    shutil.rmtree(data)
    shutil.copytree(saved, data)
    words = ["cut", PLACE.stream, PLACE.topic, "--json", "--ttl", "600"]
    settings = {"system.io.backend": cuts.backend}
    done = lease_command(data, *words, under=killer(at, call), settings=settings)
    assert done.returncode in (0, KILLED), done.stderr
    lease = str(json.loads(done.stdout)["lease"]) if done.stdout.endswith("}\n") else None
    return int(done.stderr.splitlines()[-1].split()[0]), lease, done.returncode == KILLED


@pytest.mark.parametrize("cuts", BACKENDS if LONG else ["posix"], indirect=True)
def test_a_command_that_is_killed_at_any_writing_call_of_a_cut(cuts: KilledCuts, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    # What a server binds is made anew by each.
    shutil.copytree(cuts.node.data, saved, ignore=shutil.ignore_patterns("runtime"))
    calls, lease, _ = killed_command(cuts, saved, "entry", 0)
    assert lease is not None
    cuts.check(lease)
    kills = 0
    chosen = places(calls)
    for at, call in chosen:
        _, lease, died = killed_command(cuts, saved, at, call)
        kills += died
        cuts.check(lease)
    assert kills >= len(chosen) // 2
