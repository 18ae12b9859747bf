"""Partitions that nobody has written to: as good as others, and without files or descriptors of their own."""

from tests.support.batches import batch
from tests.support.fixtures import StartNode
from tests.support.node import FEW_DESCRIPTORS_START, Plan
from tests.support.topic_client import Place, TopicClient, base_offset

_STREAM = "many"
_TOPICS, _PER_TOPIC = 5, 1_000
# Of those, listeners, journal and logs take some; a partition must not.
_DESCRIPTORS_MAX = 100


def test_thousands_of_partitions_are_restarted_with_1024_descriptors(
    start_node: StartNode, backend: str
) -> None:
    settings = {"system.io.backend": backend, "message_bus.max_message_size": "8 MiB"}
    node = start_node(Plan(settings=settings, start=FEW_DESCRIPTORS_START))
    places = [Place(_STREAM, f"topic-{number}") for number in range(_TOPICS)]
    with TopicClient(node.connect_registered()) as client:
        client.create_stream(_STREAM)
        for place in places:
            client.create_topic(place, _PER_TOPIC, 1 << 20)
    assert node.descriptors() < _DESCRIPTORS_MAX
    for end in (node.terminate, node.kill):
        end()
        node.restart()
        assert node.descriptors() < _DESCRIPTORS_MAX
        # The state of the metadata has a directory, and no partition has.
        assert [group.name for group in node.data.glob("groups/*/*")] == ["8000000000000000"]
    with TopicClient(node.connect_registered()) as client:
        assert client.topics(_STREAM) == {place.topic: _PER_TOPIC for place in places}
        for place in places:
            sent = client.send(place, _PER_TOPIC - 1, batch([b"x"]), 1)
            assert (sent.status, base_offset(sent)) == (0, 0)
            assert len(client.poll(place, _PER_TOPIC - 1, 0, 10, 1)) == 1
