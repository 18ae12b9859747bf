"""How many shards there are, and on which CPUs."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeGuard

from server_ng.bootstrap.errors import StartError
from server_ng.config.cpu_allocation import AllCpus, AutoCpus, CpuAllocation, CpuCount, CpuRange, NumaCpus

__all__ = ["is_kept", "node_cpus", "plan_shards"]

_NODES: Final = Path("/sys/devices/system/node")
_TOPOLOGY: Final = Path("/sys/devices/system/cpu")
# As many as a data directory can name.
_SHARDS_MAX: Final = 1_024


def plan_shards(
    allocation: CpuAllocation,
    usable: Sequence[int],
    pin: bool,
    nodes: Callable[[NumaCpus], Sequence[int]],
) -> tuple[int | None, ...]:
    """The CPU of each shard, or none for any. `usable` is the affinity cut by the CPU quota.

    The control plane is a thread too: from three CPUs on, `auto` leaves it one, above sixteen two.
    """
    chosen = _choose(allocation, usable, pin, nodes)
    if not chosen:
        raise StartError(f"system.sharding.cpu_allocation = {allocation} leaves no CPU for a shard.")
    if len(chosen) > _SHARDS_MAX:
        raise StartError(f"There can be at most {_SHARDS_MAX} shards, not {len(chosen)}.")
    return tuple(chosen) if pin else (None,) * len(chosen)


def is_kept(recorded: int | None, chosen: int) -> TypeGuard[int]:
    """Whether the shards of a data directory stay although `auto` would choose another number of them.

    Moving what they hold is worth it only where the machine is more than twice as large, or less than half.
    """
    return recorded is not None and recorded != chosen and recorded <= 2 * chosen <= 4 * recorded


def _choose(
    allocation: CpuAllocation,
    usable: Sequence[int],
    pin: bool,
    nodes: Callable[[NumaCpus], Sequence[int]],
) -> Sequence[int]:
    match allocation:
        case AutoCpus():
            return usable[: _auto_count(len(usable))]
        case AllCpus():
            return usable
        case CpuCount(count):
            return _counted(count, usable, pin)
        case CpuRange(start, end):
            return _named(range(start, end), usable, pin, str(allocation))
        case NumaCpus():
            return _named(nodes(allocation), usable, pin, str(allocation))


def _auto_count(usable: int) -> int:
    if usable <= 2:
        return 1
    return usable - (2 if usable > 16 else 1)


def _counted(count: int, usable: Sequence[int], pin: bool) -> list[int]:
    if count > len(usable) and pin:
        raise StartError(
            f"system.sharding.cpu_allocation asks for {count} shards, but {len(usable)} CPUs are usable. "
            "Ask for fewer, or set system.sharding.pin_cores = false to let shards share CPUs."
        )
    return [usable[index % len(usable)] for index in range(count)]


def _named(cpus: Sequence[int], usable: Sequence[int], pin: bool, allocation: str) -> list[int]:
    missing = sorted(set(cpus) - set(usable))
    if missing and pin:
        listed = ", ".join(map(str, missing[:8]))
        raise StartError(
            f"system.sharding.cpu_allocation = {allocation} names CPUs this process may not use: {listed}. "
            "Name usable ones, or set system.sharding.pin_cores = false."
        )
    return list(cpus)


def node_cpus(allocation: NumaCpus, nodes: Path = _NODES, topology: Path = _TOPOLOGY) -> list[int]:
    """The CPUs that a NUMA allocation names, from what the kernel says of nodes and cores."""
    present = sorted(int(node.name.removeprefix("node")) for node in nodes.glob("node[0-9]*"))
    if not present:
        raise StartError(
            f"system.sharding.cpu_allocation = {allocation} needs NUMA nodes, and the kernel shows none in "
            f"{nodes}. Set it to auto or to a count of shards."
        )
    wanted = allocation.nodes or tuple(present)
    unknown = sorted(set(wanted) - set(present))
    if unknown:
        raise StartError(
            f"system.sharding.cpu_allocation names NUMA node {unknown[0]}; this machine has {present}."
        )
    chosen: list[int] = []
    for node in wanted:
        cpus = _cpu_list(nodes / f"node{node}" / "cpulist")
        if allocation.one_thread_per_core:
            cpus = [cpu for cpu in cpus if _first_sibling(cpu, topology) == cpu]
        if allocation.cores_per_node > len(cpus):
            raise StartError(
                f"system.sharding.cpu_allocation asks for {allocation.cores_per_node} cores of "
                f"NUMA node {node}, which has {len(cpus)}."
            )
        chosen += cpus[: allocation.cores_per_node or len(cpus)]
    return chosen


def _first_sibling(cpu: int, topology: Path) -> int:
    siblings = topology / f"cpu{cpu}" / "topology" / "thread_siblings_list"
    return _cpu_list(siblings)[0]


def _cpu_list(path: Path) -> list[int]:
    """A kernel CPU list such as ``0-3,8``."""
    try:
        text = path.read_text()
    except OSError as error:
        raise StartError(
            f"{path}, which system.sharding.cpu_allocation needs for NUMA nodes, cannot be read: "
            f"{error.strerror}. Set it to auto or to a count of shards."
        ) from error
    cpus: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus
