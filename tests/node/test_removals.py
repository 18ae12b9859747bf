"""Files of deleted partitions that cannot be removed: counted by cause until they are gone."""

from tests.support.batches import batch
from tests.support.fixtures import StartNode
from tests.support.topic_client import Place, TopicClient
from tests.support.waiting import until

PLACE = Place("removals", "deleted")


def test_a_removal_that_fails_is_a_failing_partition_until_it_is_done(
    start_node: StartNode, backend: str
) -> None:
    node = start_node(settings={"system.io.backend": backend})
    trash, aside = node.data / "trash", node.data / "trash-aside"
    with TopicClient(node.connect_registered()) as client:
        client.create_stream(PLACE.stream)
        client.create_topic(PLACE, 1, 1 << 20)
        assert client.send(PLACE, 0, batch([bytes(1000)]), 1).status == 0
        until(lambda: bool(list((node.data / "groups").rglob("*.log"))), "a segment")
        assert node.counters().total("reconcile_failures_total", cause="remove") == 0
        trash.rename(aside)
        trash.touch()
        client.delete_topic(PLACE)
        node.wait_for_count(1, "partitions_failing", cause="remove")
        failed = node.wait_for_log("reconcile_failed")
        assert (failed["groups"], failed["first_op"]) == (1, "remove_routed")
        until(
            lambda: node.counters().total("reconcile_failures_total", cause="remove") > 1, "one more attempt"
        )
        assert node.counters().total("partitions_failing", cause="remove") == 1
        trash.unlink()
        aside.rename(trash)
        node.wait_for_count(1, "partitions_removed_total")
        node.wait_for_count(0, "partitions_failing", cause="remove")
        node.wait_for_count(0, "partitions_tombstoned")
    assert node.terminate() == 0
