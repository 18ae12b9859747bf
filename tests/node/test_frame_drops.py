"""What the shards drop is counted once each, and the rings and answers that had to give up are, too."""

import signal
from contextlib import ExitStack

from server_ng.wire.tables import ErrorCode
from tests.support.fixtures import StartNode
from tests.support.frames import Reply
from tests.support.metrics_page import Counters
from tests.support.node import faulty
from tests.support.raw import RawClient
from tests.support.sticking import FOREVER_MILLIS, sharded, stick
from tests.support.topic_client import Place, TopicClient, stored_offset_body
from tests.support.waiting import until

CLIENTS, GET_OFFSET = 22, 120
BUSY = ErrorCode.TRANSIENT_NOT_ACCEPTED
RING_ENTRIES = 64
"""The smallest mailbox there is."""
PLACE = Place("drops", "asked")


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


def drops(counters: Counters) -> dict[tuple[str, ...], float]:
    """What every series says that counts drops: by shard, variant and reason."""
    return counters.by_labels("frame_drops_total", "shard", "variant", "reason")


def offset_of(client: RawClient, partition: int) -> int:
    """The status of a question for an offset in a partition: the answer is at hand or refused."""
    return client.command(GET_OFFSET, stored_offset_body(PLACE, partition, consumer=1)).status


def refusals(clients: list[RawClient]) -> int:
    """How many of these were refused so far; the others wait."""
    heard = [client.read() for client in clients if client.hears_within(0)]
    assert all(isinstance(reply, Reply) and reply.status == BUSY for reply in heard), heard
    return len(heard)


def test_requests_that_find_a_full_mailbox_are_counted_one_by_one(start_node: StartNode) -> None:
    fault = faulty(f"stall {FOREVER_MILLIS} 0", system__sharding__inbox_capacity="64", **sharded(2))
    node = start_node(fault)
    with ExitStack() as stack:
        # Connections are dealt to the two shards in turn.
        clients = [stack.enter_context(node.connect_registered()) for _ in range(2 * 110)]
        first, second = clients[0::2], clients[1::2]
        admin = TopicClient(first[0])
        admin.create_stream(PLACE.stream)
        admin.create_topic(PLACE, 2, 1 << 20)
        assert {offset_of(second[0], 0), offset_of(second[0], 1)} == {0}
        assert drops(node.counters()) == {}
        stick(node, first[1])
        asking = second[:100]
        for client in asking:
            client.send(client.prepare(CLIENTS).encode())
        refused = len(asking) - RING_ENTRIES
        until(lambda: sum(drops(node.counters()).values()) >= refused, "refusals")
        assert drops(node.counters()) == {("1", "client_request", "full"): refused}
        assert refusals(asking) == refused
        # One of the partitions is the stuck shard's, and its mailbox is full.
        for client in second[100:105]:
            assert sorted([offset_of(client, 0), offset_of(client, 1)]) == [0, BUSY]
        assert drops(node.counters()) == {
            ("1", "client_request", "full"): refused,
            ("1", "partition_request", "full"): 5,
        }
    node.kill()


def test_a_misrouted_request_is_answered_and_counted_once(start_node: StartNode) -> None:
    node = start_node(faulty("misroute 1", **sharded(2)))
    with node.connect_registered() as client:
        admin = TopicClient(client)
        admin.create_stream(PLACE.stream)
        admin.create_topic(PLACE, 2, 1 << 20)
        node.signal(signal.SIGUSR1)
        # The signal takes a moment to become a fault; one of the partitions is the other shard's.
        until(lambda: BUSY in (offset_of(client, 0), offset_of(client, 1)), "the fault")
        assert drops(node.counters()) == {("1", "partition_request", "misrouted"): 1}
        assert {offset_of(client, 0), offset_of(client, 1)} == {0}
    assert node.terminate() == 0
