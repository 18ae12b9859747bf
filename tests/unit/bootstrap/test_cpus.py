"""How many shards there are and where, for machines that this one is not."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server_ng.bootstrap.cpus import is_kept, node_cpus, plan_shards
from server_ng.bootstrap.errors import StartError
from server_ng.config.cpu_allocation import AllCpus, AutoCpus, CpuAllocation, CpuCount, CpuRange, NumaCpus


def no_nodes(_allocation: NumaCpus) -> Sequence[int]:
    """For allocations that ask for none."""
    raise AssertionError("asked for NUMA nodes")


def plan(allocation: CpuAllocation, usable: Sequence[int], pin: bool = True) -> tuple[int | None, ...]:
    """A plan without NUMA."""
    return plan_shards(allocation, usable, pin, no_nodes)


@pytest.mark.parametrize(
    ("usable", "shards"),
    [(1, 1), (2, 1), (3, 2), (4, 3), (8, 7), (16, 15), (17, 15), (18, 16), (32, 30), (64, 62)],
)
def test_auto_leaves_the_control_plane_a_processor(usable: int, shards: int) -> None:
    assert plan(AutoCpus(), range(usable)) == tuple(range(shards))


@given(usable=st.sets(st.integers(0, 1023), min_size=1, max_size=64))
def test_auto_and_all_take_usable_processors_once(usable: set[int]) -> None:
    cpus = sorted(usable)
    assert plan(AllCpus(), cpus) == tuple(cpus)
    automatic = plan(AutoCpus(), cpus)
    assert 1 <= len(automatic) <= len(cpus)
    assert set(automatic) <= usable
    assert len(set(automatic)) == len(automatic)


@given(usable=st.integers(1, 64), count=st.integers(1, 128), pin=st.booleans())
def test_a_count_is_kept_or_refused(usable: int, count: int, pin: bool) -> None:
    if pin and count > usable:
        with pytest.raises(StartError, match="pin_cores"):
            plan(CpuCount(count), range(usable), pin)
        return
    assert plan(CpuCount(count), range(usable), pin) == (tuple(range(count)) if pin else (None,) * count)


def test_a_quota_cuts_what_a_range_may_name() -> None:
    assert plan(CpuRange(1, 3), [0, 1, 2, 3]) == (1, 2)
    with pytest.raises(StartError, match=r"may not use: 2, 3"):
        plan(CpuRange(1, 4), [0, 1])
    assert plan(CpuRange(1, 4), [0, 1], pin=False) == (None, None, None)


def test_no_processor_at_all_is_refused() -> None:
    with pytest.raises(StartError, match="no CPU"):
        plan(AllCpus(), [])


def test_there_is_an_end_to_shards() -> None:
    with pytest.raises(StartError, match="1024"):
        plan(CpuCount(1_025), [0], pin=False)


@pytest.mark.parametrize(
    ("recorded", "chosen", "kept"),
    [(None, 4, False), (4, 4, False), (2, 4, True), (8, 4, True), (1, 4, False), (9, 4, False), (3, 4, True)],
)
def test_shards_move_only_to_a_machine_of_another_size(recorded: int | None, chosen: int, kept: bool) -> None:
    assert is_kept(recorded, chosen) is kept


class Machine:
    """Folders as the kernel shows its NUMA nodes and the threads of its cores."""

    def __init__(self, folder: Path) -> None:
        self.nodes = folder / "node"
        self.topology = folder / "cpu"
        self.nodes.mkdir()
        (self.nodes / "possible").write_text("0-63\n")

    def node(self, number: int, cpulist: str, siblings: dict[int, str]) -> None:
        """A node with these processors; each names the threads of its core."""
        place = self.nodes / f"node{number}"
        place.mkdir()
        (place / "cpulist").write_text(f"{cpulist}\n")
        for cpu, threads in siblings.items():
            core = self.topology / f"cpu{cpu}" / "topology"
            core.mkdir(parents=True)
            (core / "thread_siblings_list").write_text(f"{threads}\n")

    def cpus(self, allocation: NumaCpus) -> list[int]:
        """What an allocation names here."""
        return node_cpus(allocation, self.nodes, self.topology)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Two nodes with two cores of two threads each, numbered as the kernel does: first threads first."""
    two = Machine(tmp_path)
    two.node(0, "0-1,4-5", {0: "0,4", 1: "1,5", 4: "0,4", 5: "1,5"})
    two.node(1, "2-3,6-7", {2: "2,6", 3: "3,7", 6: "2,6", 7: "3,7"})
    return two


@pytest.mark.parametrize(
    ("allocation", "cpus"),
    [
        (NumaCpus((), 0, False), [0, 1, 4, 5, 2, 3, 6, 7]),
        (NumaCpus((), 0, True), [0, 1, 2, 3]),
        (NumaCpus((1,), 0, False), [2, 3, 6, 7]),
        (NumaCpus((1,), 0, True), [2, 3]),
        (NumaCpus((0, 1), 1, True), [0, 2]),
        (NumaCpus((1, 0), 3, False), [2, 3, 6, 0, 1, 4]),
    ],
)
def test_numa_allocations(machine: Machine, allocation: NumaCpus, cpus: list[int]) -> None:
    assert machine.cpus(allocation) == cpus
    assert plan_shards(allocation, range(8), True, machine.cpus) == tuple(cpus)


def test_a_node_that_is_not_there_is_named(machine: Machine) -> None:
    with pytest.raises(StartError, match=r"node 7; this machine has \[0, 1\]"):
        machine.cpus(NumaCpus((0, 7), 0, False))


def test_more_cores_than_a_node_has_are_refused(machine: Machine) -> None:
    with pytest.raises(StartError, match="3 cores of NUMA node 0, which has 2"):
        machine.cpus(NumaCpus((0,), 3, True))


@pytest.mark.parametrize("hidden", ["node/node0/cpulist", "cpu/cpu0/topology/thread_siblings_list"])
def test_a_file_that_the_kernel_does_not_show_is_named(machine: Machine, tmp_path: Path, hidden: str) -> None:
    (tmp_path / hidden).unlink()
    with pytest.raises(StartError, match=rf"{hidden}, which .* No such file .* Set it to auto"):
        machine.cpus(NumaCpus((0,), 0, True))


def test_a_machine_without_nodes_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"numa:auto needs NUMA nodes.* Set it to auto"):
        Machine(tmp_path).cpus(NumaCpus())
