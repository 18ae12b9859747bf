"""Servers killed at any moment under load: what clients were told is found again, and nothing else is."""

import copy
import os
import random
import signal
import time
from collections.abc import Callable
from typing import Final

import pytest

from tests.support.fixtures import BACKENDS, LONG, StartNode
from tests.support.load import load
from tests.support.load_checker import check
from tests.support.load_record import Batch, BrokenPromiseError, LoadRecord
from tests.support.node import Node
from tests.support.topic_churn import TopicHistory, check_topics, churn
from tests.support.topic_client import Place, TopicClient

KILLS = int(os.environ.get("NG_KILLS", "170" if LONG else "5"))
SEED = int(os.environ.get("NG_SEED", "1"))
KILLS_PER_TOPIC: Final = 10
ANSWERS_MAX: Final = 1000 if LONG else 300
"""The most answers that a server gives before it ends."""
PARTITIONS: Final = 8
SEGMENT_BYTES: Final = 1 << 20
"""The smallest there is: segments end in every life."""

_PLACE: Final = Place("kills", "load")


def sharded(shards: int, dice: random.Random) -> dict[str, str]:
    """Settings of a life; each may do its I/O in another way."""
    return {
        "system.sharding.cpu_allocation": str(shards),
        "system.sharding.pin_cores": "false",
        "system.io.backend": dice.choice(BACKENDS),
    }


def make_topic(node: Node) -> LoadRecord:
    """A topic of which nobody has heard anything yet."""
    with TopicClient(node.connect_registered()) as client:
        if _PLACE.topic in client.topics(_PLACE.stream):
            client.delete_topic(_PLACE)
        client.create_topic(_PLACE, PARTITIONS, SEGMENT_BYTES)
    return LoadRecord()


def check_all(node: Node, record: LoadRecord) -> None:
    """Holds the topic against what clients were told of it."""
    with TopicClient(node.connect_registered()) as client:
        check(client, _PLACE, record)


def answers_before_the_end(dice: random.Random) -> int:
    """The moment at which a server ends."""
    return int(ANSWERS_MAX ** dice.random())


def live(node: Node, record: LoadRecord, dice: random.Random, end: Callable[[], int]) -> int:
    """Loads the server up to some moment and ends it then, still loaded."""
    with load(node, _PLACE, PARTITIONS, record, dice.getrandbits(32)) as crew:
        crew.wait_for(answers_before_the_end(dice))
        time.sleep(dice.uniform(0, 0.02))
        crew.wait_for(0)
        return end()


def kill_starts(node: Node, dice: random.Random) -> None:
    """Now and then the server is killed on its way up, too."""
    while dice.random() < 0.2:
        node.launch()
        time.sleep(dice.uniform(0.2, 1.0))
        assert node.kill() == -signal.SIGKILL


@pytest.fixture
def node(make_node: StartNode) -> Node:
    """A server that does not run yet."""
    return make_node()


def first_start(node: Node, shards: int, dice: random.Random) -> None:
    """Starts a new server and makes the stream."""
    node.restart(sharded(shards, dice))
    with TopicClient(node.connect_registered()) as client:
        client.create_stream(_PLACE.stream)


@pytest.mark.timeout(7200 if LONG else 60)
@pytest.mark.parametrize("shards", [1, 2, 4])
def test_what_was_acknowledged_survives_kills_under_load(node: Node, shards: int) -> None:
    dice = random.Random(f"{SEED}-{shards}")
    first_start(node, shards, dice)
    record = LoadRecord()
    for number in range(KILLS):
        if number % KILLS_PER_TOPIC == 0:
            record = make_topic(node)
        assert live(node, record, dice, node.kill) == -signal.SIGKILL
        kill_starts(node, dice)
        node.restart(sharded(shards, dice))
        check_all(node, record)
    assert node.terminate() == 0


@pytest.mark.timeout(7200 if LONG else 60)
@pytest.mark.parametrize("shards", [1, 2, 4])
def test_a_stop_under_load_is_in_order(node: Node, shards: int) -> None:
    dice = random.Random(f"stops-{SEED}-{shards}")
    first_start(node, shards, dice)
    record = make_topic(node)
    for backend in BACKENDS:
        assert live(node, record, dice, node.terminate) == 0
        assert node.log("stopped")[0]["status"] == 0
        assert node.log("answers_cut") == []
        assert len(node.log("shard_stopped")) == shards
        assert node.stderr() == ""
        node.restart({"system.io.backend": backend})
        check_all(node, record)
    assert node.terminate() == 0


@pytest.mark.timeout(7200 if LONG else 60)
@pytest.mark.parametrize("shards", [1, 4])
def test_topics_survive_kills_while_they_are_made_and_removed(node: Node, shards: int) -> None:
    dice = random.Random(f"topics-{SEED}-{shards}")
    first_start(node, shards, dice)
    histories = [
        [TopicHistory(Place(_PLACE.stream, f"topic-{client}-{number}")) for number in range(4)]
        for client in range(3)
    ]
    for _ in range(KILLS):
        with churn(node, histories, dice.getrandbits(32)) as crew:
            crew.wait_for(answers_before_the_end(dice))
            time.sleep(dice.uniform(0, 0.02))
            crew.wait_for(0)
            assert node.kill() == -signal.SIGKILL
        kill_starts(node, dice)
        node.restart(sharded(shards, dice))
        with TopicClient(node.connect_registered()) as client:
            check_topics(client, _PLACE.stream, [topic for row in histories for topic in row])
    assert node.terminate() == 0


def test_a_purge_comes_to_its_end_with_and_without_a_kill(node: Node) -> None:
    dice = random.Random(SEED)
    first_start(node, 1, dice)
    record = make_topic(node)
    for _ in range(2):
        with TopicClient(node.connect_registered()) as client:
            client.purge_topic(_PLACE)
        node.wait_for_count(0, "partitions_unsettled")
        assert node.kill() == -signal.SIGKILL
        node.restart()
        check_all(node, record)


@pytest.mark.parametrize("stopped", [True, False], ids=["stopped", "killed"])
def test_another_number_of_shards_keeps_everything(node: Node, *, stopped: bool) -> None:
    dice = random.Random(f"shards-{SEED}-{stopped}")
    end, status = (node.terminate, 0) if stopped else (node.kill, -signal.SIGKILL)
    first_start(node, 1, dice)
    record = make_topic(node)
    for shards in (2, 4, 1):
        assert live(node, record, dice, end) == status
        node.restart(sharded(shards, dice))
        check_all(node, record)
    assert node.terminate() == 0


def lose(record: LoadRecord) -> None:
    """A message was acknowledged behind the last one that is there."""
    record.know(0, max(record.known[0]) + 1, digest=1)


def change(record: LoadRecord) -> None:
    """A message was acknowledged with another payload."""
    record.known[0][max(record.known[0])] ^= 1


def renumber(record: LoadRecord) -> None:
    """Two messages were acknowledged in the other order."""
    first, second = sorted(record.known[0])[:2]
    messages = record.known[0]
    messages[first], messages[second] = messages[second], messages[first]


def add(record: LoadRecord) -> None:
    """The last message was sent by nobody."""
    del record.known[0][max(record.known[0])]


def halve(record: LoadRecord) -> None:
    """The last message was the first half of a batch that nobody acknowledged."""
    messages = record.known[0]
    record.unanswered[0].append(Batch((messages.pop(max(messages)), 1)))


def store(record: LoadRecord) -> None:
    """Another offset was acknowledged as stored."""
    record.stored[max(record.stored, key=lambda key: record.stored[key])] += 1


_PLANTS: Final = {
    lose: "partition 0: the message of offset [0-9]+ is lost",
    change: "partition 0: offset [0-9]+ is now another message",
    renumber: "partition 0: the message of offset 0 is now at 1",
    add: "partition 0: nobody waits for the message of offset [0-9]+",
    halve: "partition 0: the batch of offset [0-9]+ is not as it was sent",
    store: "is stored and not one of",
}


def test_the_checker_finds_what_is_planted(node: Node) -> None:
    dice = random.Random(SEED)
    first_start(node, 2, dice)
    record = make_topic(node)
    with load(node, _PLACE, PARTITIONS, record, SEED) as crew:
        crew.wait_for(100)
    check_all(node, record)
    for plant, complaint in _PLANTS.items():
        edited = copy.deepcopy(record)
        plant(edited)
        with pytest.raises(BrokenPromiseError, match=complaint):
            check_all(node, edited)
    check_all(node, record)
