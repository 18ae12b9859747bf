"""Starts with so many partitions that a view of each exceeds the smallest journal."""

from tests.support.batches import batch
from tests.support.fixtures import StartNode
from tests.support.node import Plan
from tests.support.topic_client import Place, TopicClient

TOPICS, PARTITIONS = 10, 1_000
SETTINGS = {"message_bus.max_message_size": "1 MiB", "system.sharding.cpu_allocation": "1"}


def test_a_server_of_ten_thousand_partitions_starts_again_and_again(start_node: StartNode) -> None:
    """Aim: no start lacks room in its journal. Method: the smallest journal, kills and stops by turns."""
    node = start_node(Plan(SETTINGS))
    places = [Place("stream", f"topic-{number}") for number in range(TOPICS)]
    with TopicClient(node.connect_registered()) as client:
        client.create_stream("stream")
        for place in places:
            client.create_topic(place, PARTITIONS, 1 << 30)
    sent = 0
    for start in range(4):
        if start > 0:
            node.start()
        with TopicClient(node.connect_registered()) as client:
            assert len(client.poll(places[0], 0, 0, 100, 7)) == sent
            assert client.send(places[0], 0, batch([b"x" * 1000]), 1).status == 0
            sent += 1
        if start % 2 == 0:
            node.kill()
        else:
            assert node.terminate() == 0
