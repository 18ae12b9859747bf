"""What the readiness page says of a full disk."""

from server_ng.bootstrap.space import space_complaints
from server_ng.engine.engine import Figure
from server_ng.wire.tables import METRICS


def figure(name: str, shard: str, value: int) -> Figure:
    (metric,) = (metric for metric in METRICS if metric.name == name)
    return Figure(metric, shard, (), value, ())


def test_a_disk_with_room_is_nothing_to_speak_of() -> None:
    assert list(space_complaints([figure("partitions_waiting_for_space", "0", 0)])) == []


def test_the_partitions_of_all_shards_are_counted() -> None:
    figures = [figure("partitions_waiting_for_space", shard, 2) for shard in ("0", "1")]
    (complaint,) = space_complaints(figures)
    assert "4 partitions" in complaint
    assert "will be refused" in complaint
    (complaint,) = space_complaints([*figures, figure("refusing_sends", "1", 1)])
    assert "sends are refused" in complaint


def test_a_journal_without_room_for_a_file_names_the_bytes() -> None:
    figures = [figure("journal_bytes_lacking", shard, 2 << 20) for shard in ("0", "1")]
    (complaint,) = space_complaints(figures)
    assert f"needs {4 << 20} bytes" in complaint
    assert "Make room" in complaint


def test_removals_that_fail_are_told_besides() -> None:
    (complaint,) = space_complaints([figure("removals_failing", "0", 3)])
    assert complaint.startswith("3 removals of files fail")
