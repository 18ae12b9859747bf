"""Partitions that a shard begins to open and never finishes: reported, and the server starts without them."""

import os

from tests.support.batches import batch
from tests.support.fixtures import StartNode
from tests.support.topic_client import Place, TopicClient

STUCK, SERVED = Place("builds", "stuck"), Place("builds", "served")
SETTINGS = {"system.sharding.cpu_allocation": "1"}


def test_a_partition_that_never_opens_is_failing_and_delays_no_other(
    start_node: StartNode, backend: str
) -> None:
    node = start_node(settings={**SETTINGS, "system.io.backend": backend})
    with TopicClient(node.connect_registered()) as client:
        client.create_stream(STUCK.stream)
        for place in (STUCK, SERVED):
            client.create_topic(place, 1, 1 << 20)
            assert client.send(place, 0, batch([place.topic.encode()]), 1).status == 0
    assert node.terminate() == 0
    of_stuck, _ = sorted((node.data / "groups").rglob("SEGMENTS"))
    aside, pipe = of_stuck.with_suffix(".aside"), of_stuck.with_suffix(".pipe")
    of_stuck.rename(aside)
    # A disk that does not answer: nobody writes into the pipe that the server opens.
    os.mkfifo(pipe)
    of_stuck.hardlink_to(pipe)
    node.start()
    assert node.counters().total("partitions_failing", cause="build") == 1
    failed = node.log("reconcile_failed")[0]
    assert (failed["groups"], failed["first_op"]) == (1, "insert_routed")
    with TopicClient(node.connect_registered()) as client:
        assert [message.offset for message in client.poll(SERVED, 0, 0, 10, 7)] == [0]
        client.create_topic(Place("builds", "new"), 1, 1 << 20)
        assert client.send(Place("builds", "new"), 0, batch([b"new"]), 1).status == 0
    aside.rename(of_stuck)
    os.close(os.open(pipe, os.O_WRONLY))
    node.wait_for_count(0, "partitions_failing", cause="build")
    with TopicClient(node.connect_registered()) as client:
        assert [message.offset for message in client.poll(STUCK, 0, 0, 10, 7)] == [0]
    assert node.terminate() == 0
