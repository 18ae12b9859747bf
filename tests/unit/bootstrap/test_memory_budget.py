"""The memory budget: its size, its parts, and the settings that exceed them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server_ng.bootstrap.errors import StartError
from server_ng.bootstrap.memory import MemoryLimit
from server_ng.bootstrap.memory_budget import Reduced, budget_bytes, divide, plan_memory
from server_ng.config import Settings

_MIB = 1 << 20
_GIB = 1 << 30


def _settings(**sections: Any) -> Settings:
    return Settings.model_validate(sections)


@pytest.mark.parametrize(
    ("limit", "wanted", "expected"),
    [
        (256 * _MIB, 0, 64 * _MIB),
        (24 * _GIB, 0, 4 * _GIB),
        (256 * _MIB, 100 * _MIB, 100 * _MIB),
        (256 * _MIB, 256 * _MIB, 256 * _MIB),
    ],
)
def test_the_budget_is_what_is_set_or_a_quarter(limit: int, wanted: int, expected: int) -> None:
    assert budget_bytes(MemoryLimit(limit, "machine"), wanted) == expected


def test_a_budget_above_the_limit_is_refused_with_a_remedy() -> None:
    with pytest.raises(StartError) as refused:
        budget_bytes(MemoryLimit(256 * _MIB, "/sys/fs/cgroup/memory.max"), 257 * _MIB)
    for part in ("memory.budget", "257 MiB", "256 MiB", "/sys/fs/cgroup/memory.max", "Lower memory.budget"):
        assert part in refused.value.sentence
    assert refused.value.status == 78


@given(
    budget=st.integers(0, 1 << 45),
    shards=st.integers(1, 1024),
    cache=st.integers(0, 1 << 40),
    unflushed=st.integers(_MIB, 1 << 34),
)
def test_the_parts_never_exceed_the_budget(budget: int, shards: int, cache: int, unflushed: int) -> None:
    settings = _settings(poll={"cache_bytes_max": cache}, partition={"unflushed_bytes_max": unflushed})
    memory = divide(budget, shards, settings)
    assert memory.total * shards <= budget
    assert memory.poll_cache * shards <= cache
    assert memory.unflushed <= unflushed


def test_a_small_container_has_something_for_everybody() -> None:
    memory = divide(64 * _MIB, 1, Settings())
    assert (memory.poll_cache, memory.poll_reads, memory.replies) == (12 * _MIB, 8 * _MIB, 16 * _MIB)
    assert (memory.unflushed, memory.connections, memory.spares) == (16 * _MIB, 8 * _MIB, 4 * _MIB)


def test_a_large_machine_has_what_the_settings_say() -> None:
    memory = divide(4 * _GIB, 1, Settings())
    assert (memory.poll_cache, memory.unflushed) == (512 * _MIB, 64 * _MIB)
    assert (memory.replies, memory.poll_reads) == (512 * _MIB, 256 * _MIB)
    assert (
        list(plan_memory(Settings(), MemoryLimit(24 * _GIB, "machine"), 1, 4 * _MIB).reduces(Settings()))
        == []
    )


def test_settings_that_exceed_their_part_are_named() -> None:
    settings = _settings(poll={"cache_bytes_max": 100 * _MIB, "reply_bytes_max": 4 * _MIB})
    plan = plan_memory(settings, MemoryLimit(256 * _MIB, "machine"), 2, 4 * _MIB)
    assert list(plan.reduces(settings)) == [
        Reduced("poll.cache_bytes_max", 100 * _MIB, 12 * _MIB),
        Reduced("partition.unflushed_bytes_max", 64 * _MIB, 8 * _MIB),
        Reduced("poll.reply_bytes_max", 4 * _MIB, 2 * _MIB),
    ]


@pytest.mark.parametrize(
    ("limit", "has_sockets", "send_buffer", "fitting"),
    [
        (256 * _MIB, True, 4 * _MIB, 32 * _MIB // 100),
        (256 * _MIB, True, 256 << 10, None),
        (256 * _MIB, False, 4 * _MIB, None),
        (200 * _MIB, True, 4 * _MIB, 64 << 10),
        (4 * _GIB, True, 4 * _MIB, None),
        (256 * _MIB, True, 0, None),
    ],
)
def test_send_buffers_that_can_fill_the_limit_are_told(
    limit: int, has_sockets: bool, send_buffer: int, fitting: int | None
) -> None:
    found = MemoryLimit(limit, "/sys/fs/cgroup/memory.max", has_sockets)
    assert plan_memory(Settings(), found, 1, send_buffer).send_buffer_fitting() == fitting
