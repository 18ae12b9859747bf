"""What the shards drop is counted once each, and the rings and answers that had to give up are, too."""

from tests.support.fixtures import StartNode
from tests.support.node import faulty
from tests.support.sticking import FOREVER_MILLIS, sharded, stick
from tests.support.topic_client import TopicClient


def test_an_answer_that_gave_up_waiting_for_a_shard_is_counted(start_node: StartNode) -> None:
    node = start_node(faulty(f"stall {FOREVER_MILLIS} 1", **sharded(2)))
    with TopicClient(node.connect_registered()) as client, node.connect_registered() as stuck:
        client.create_stream("before")
        assert node.counters().total("metadata_answers_unconverged_total") == 0
        stick(node, stuck)
        for number in (1, 2):
            client.create_stream(f"after-{number}")
            node.wait_for_count(number, "metadata_answers_unconverged_total")
    node.kill()
