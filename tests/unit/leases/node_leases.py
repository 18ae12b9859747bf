"""The leases of a node without shards or streams: what its disk has, and a clock of the test's."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server_ng.leases.errors import LeaseRefusedError, Refusal
from server_ng.leases.service import Leases, Limits, Topic
from server_ng.leases.shards import ShardAdoptions, ShardCuts
from tests.support.lease_files import CLUSTER, Message, segment, write_lease

__all__ = ["Clock", "leases_of", "no_topic", "write_lease_until"]


@dataclass(slots=True)
class Clock:
    """Microseconds, as the test has them."""

    now: int

    def __call__(self) -> int:
        return self.now


def no_topic(stream: str | int, topic: str | int) -> Topic:
    """Metadata without streams."""
    raise LeaseRefusedError(Refusal.UNKNOWN_STREAM, f"no {stream}/{topic}")


def write_lease_until(root: Path, name: str, expires: int) -> None:
    """Leaves a lease of one message behind."""
    write_lease(root / name, {0: [segment([[Message(0, b"x")]])]})
    (root / name / "expires").write_text(f"{expires}\n")


def leases_of(root: Path, clock: Clock, **how: Any) -> Leases:
    """Not loaded yet; `how` has limits, and takes the place of what is none here."""
    limits = {"ttl_max": 3600, "count_max": 4, "bytes_max": 1 << 20, "cut_timeout": 10}
    limits |= {name: how.pop(name) for name in list(how) if name in limits}
    none: dict[str, Any] = {
        "cluster": lambda: CLUSTER,
        "find": no_topic,
        "cuts": ShardCuts(lambda _record: None, lambda _group: 0),
        "adoptions": ShardAdoptions(lambda _record: None, lambda _group: 0),
    }
    return Leases(root=root, limits=Limits(**limits), clock=clock, **{**none, **how})
