"""The owner of a group: the shard that the engine computes too."""

import pytest

from server_ng.reconciler.placement import owner

# Computed by the engine's half, for nodes of 1, 2, 3, 4, 7 and 64 shards.
OWNERS = {
    4096: (0, 1, 1, 1, 6, 37),
    4097: (0, 0, 2, 2, 0, 38),
    8191: (0, 0, 1, 0, 6, 36),
    8192: (0, 0, 1, 2, 1, 10),
    4096 * 77 + 5: (0, 1, 0, 1, 2, 29),
    (1 << 40) + 4095: (0, 0, 0, 2, 6, 62),
    (1 << 63) - 1: (0, 1, 0, 3, 0, 63),
}


@pytest.mark.parametrize("group", OWNERS)
def test_it_is_where_the_engine_puts_it(group: int) -> None:
    assert tuple(owner(group, shards) for shards in (1, 2, 3, 4, 7, 64)) == OWNERS[group]


def test_the_partitions_of_a_topic_go_round_all_shards() -> None:
    for block in range(100):
        shards = [owner(block << 12 | partition, 4) for partition in range(40)]
        assert [shards.count(shard) for shard in range(4)] == [10] * 4
