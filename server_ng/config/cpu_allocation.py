"""Which processors the shards take: ``auto``, ``all``, ``N``, ``a..b``, ``numa:...``, as Iggy writes them.

``str`` of each value is the text that `parse_cpu_allocation` reads back.
"""

from dataclasses import dataclass
from typing import TypeAlias

from typing_extensions import override

from server_ng.config.errors import BadValueError, shown

__all__ = [
    "AllCpus",
    "AutoCpus",
    "CpuAllocation",
    "CpuCount",
    "CpuRange",
    "NumaCpus",
    "parse_cpu_allocation",
]

# The number of processors Linux can be built for; anything above is a typing mistake.
_CPU_MAX = 8_192
_EXAMPLE = (
    'Write "auto", "all", a count such as "4", a range such as "0..4" (the end is not included), '
    '"numa:auto" or "numa:nodes=0,1;cores=4;no_ht=true".'
)


@dataclass(frozen=True, slots=True)
class AutoCpus:
    """One shard per usable processor, less those kept for the control plane."""

    @override
    def __str__(self) -> str:
        return "auto"


@dataclass(frozen=True, slots=True)
class AllCpus:
    """One shard on every usable processor."""

    @override
    def __str__(self) -> str:
        return "all"


@dataclass(frozen=True, slots=True)
class CpuCount:
    """So many shards, on the first usable processors."""

    count: int

    @override
    def __str__(self) -> str:
        return str(self.count)


@dataclass(frozen=True, slots=True)
class CpuRange:
    """One shard on each processor from `start` up to, not including, `end`."""

    start: int
    end: int

    @override
    def __str__(self) -> str:
        return f"{self.start}..{self.end}"


@dataclass(frozen=True, slots=True)
class NumaCpus:
    """Shards placed by memory node."""

    nodes: tuple[int, ...] = ()
    """Nodes to use; empty means all."""
    cores_per_node: int = 0
    """Cores taken from each node; 0 means all."""
    one_thread_per_core: bool = True

    @override
    def __str__(self) -> str:
        if self == NumaCpus():
            return "numa:auto"
        nodes = f"nodes={','.join(map(str, self.nodes))};" if self.nodes else ""
        return f"numa:{nodes}cores={self.cores_per_node};no_ht={str(self.one_thread_per_core).lower()}"


CpuAllocation: TypeAlias = AutoCpus | AllCpus | CpuCount | CpuRange | NumaCpus


def parse_cpu_allocation(raw: object) -> CpuAllocation:
    """The allocation in `raw`."""
    if isinstance(raw, (AutoCpus, AllCpus, CpuCount, CpuRange, NumaCpus)):
        return raw
    if isinstance(raw, bool) or not isinstance(raw, (str, int)):
        raise BadValueError("this is not a choice of processors.", _EXAMPLE)
    text = str(raw).strip()
    if text == "auto":
        return AutoCpus()
    if text == "all":
        return AllCpus()
    if text.startswith("numa:"):
        return _numa(text.removeprefix("numa:"))
    if ".." in text:
        return _range(text)
    count = _number(text, text)
    if count == 0:
        raise BadValueError("there must be at least one shard.", _EXAMPLE)
    return CpuCount(count)


def _range(text: str) -> CpuRange:
    start_text, _, end_text = text.partition("..")
    start, end = _number(start_text, text), _number(end_text, text)
    if start >= end:
        raise BadValueError(f"{shown(text)} is an empty range: its end is not included.", _EXAMPLE)
    return CpuRange(start, end)


def _numa(text: str) -> NumaCpus:
    if text == "auto":
        return NumaCpus()
    given: dict[str, str] = {}
    for part in text.split(";"):
        name, equals, value = part.partition("=")
        if not equals or name in given or name not in ("nodes", "cores", "no_ht"):
            raise BadValueError(f"{shown(part)} is not a NUMA parameter.", _EXAMPLE)
        given[name] = value
    if given.get("no_ht", "true") not in ("true", "false"):
        raise BadValueError("no_ht is true or false.", _EXAMPLE)
    nodes = tuple(_number(node, text) for node in given["nodes"].split(",")) if "nodes" in given else ()
    if len(set(nodes)) != len(nodes):
        raise BadValueError(f"{shown(text)} names a node twice.")
    return NumaCpus(nodes, _number(given.get("cores", "0"), text), given.get("no_ht", "true") == "true")


def _number(text: str, whole: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise BadValueError(f"{shown(whole)} is not a choice of processors.", _EXAMPLE)
    # Six digits are refused before they cost a conversion.
    if len(text) > 5 or int(text) > _CPU_MAX:
        raise BadValueError(f"{shown(whole)} is more than the {_CPU_MAX} processors that Linux can use.")
    return int(text)
