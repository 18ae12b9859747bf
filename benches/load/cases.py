"""What is measured, and what we want to see."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

__all__ = ["CASES", "Case", "Goal", "Measurement"]


@dataclass(frozen=True, slots=True)
class Measurement:
    """What `ng-load run --json` says of one run; `src/load/report.rs` is the other half."""

    requests: int
    elapsed_ns: int
    payload_bytes: int
    p50_ns: int
    p99_ns: int
    p999_ns: int
    max_ns: int
    server_cpu_ns: int
    server_resident_bytes: int

    @property
    def megabytes_per_second(self) -> float:
        """Payload only."""
        return self.payload_bytes * 1e3 / self.elapsed_ns

    @property
    def requests_per_second(self) -> float:
        """Answered ones."""
        return self.requests * 1e9 / self.elapsed_ns

    @property
    def cpu_us_per_request(self) -> float:
        """Of all threads of the server."""
        return self.server_cpu_ns / 1e3 / self.requests

    @property
    def cpu_seconds_per_gigabyte(self) -> float:
        """Of payload."""
        return self.server_cpu_ns / self.payload_bytes


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound of one figure of a node."""

    text: str
    met: Callable[[Measurement], bool]


def _rate(at_least: float) -> Goal:
    return Goal(f">= {at_least:g} MB/s", lambda seen: seen.megabytes_per_second >= at_least)


def _cpu_per_gigabyte(at_most: float) -> Goal:
    return Goal(f"<= {at_most:g} CPU s/GB", lambda seen: seen.cpu_seconds_per_gigabyte <= at_most)


def _cpu_per_request(at_most: float) -> Goal:
    return Goal(f"<= {at_most:g} us CPU", lambda seen: seen.cpu_us_per_request <= at_most)


def _median(at_most_ms: float) -> Goal:
    return Goal(f"p50 <= {at_most_ms:g} ms", lambda seen: seen.p50_ns <= at_most_ms * 1e6)


@dataclass(frozen=True, slots=True)
class Case:
    """One shape of load and its goals, which are for a closed loop."""

    name: str
    kind: str
    messages: int
    bytes: int
    clients: int = 1
    partitions: int = 1
    requests: int = 0
    """Requests of one run at most, so that no run fills a disk."""
    batches: int = 0
    """Batches of 1000 messages that wait for polls."""
    in_memory: bool = False
    """Whether the data lies on a memory file system, where a sync is free."""
    nagle: bool = False
    """Whether clients leave Nagle's algorithm on, as they do by default."""
    goals: tuple[Goal, ...] = ()


CASES: Final = (
    Case(
        "send 1000 x 1000 B", "send", 1000, 1000,
        requests=2_000, goals=(_rate(720), _cpu_per_gigabyte(1.1)),
    ),
    Case(
        "send 10 x 256 B, 4 clients", "send", 10, 256,
        clients=4, requests=200_000, goals=(_rate(45), _cpu_per_request(30)),
    ),
    Case(
        "send 10 x 256 B, 4 clients, memory", "send", 10, 256,
        clients=4, requests=200_000, in_memory=True, goals=(_rate(100), _cpu_per_request(30)),
    ),
    Case(
        "send 1 x 64 B", "send", 1, 64,
        requests=100_000, goals=(_median(0.23), _cpu_per_request(60)),
    ),
    Case(
        "send 1 x 64 B, memory", "send", 1, 64,
        requests=100_000, in_memory=True, goals=(_median(0.10),),
    ),
    Case(
        "send 20 x 1000 B, client defaults", "send", 20, 1000,
        requests=20_000, nagle=True, goals=(_median(1.0),),
    ),
    Case(
        "send 100 x 1000 B, 8 partitions, 2 clients", "send", 100, 1000,
        clients=2, partitions=8, requests=20_000, goals=(_rate(500), _cpu_per_gigabyte(1.3)),
    ),
    Case(
        "poll 1000 x 1000 B", "poll", 1000, 1000,
        requests=5_000, batches=200, goals=(_rate(1800), _cpu_per_gigabyte(0.42)),
    ),
    Case(
        "poll 10 x 1000 B", "poll", 10, 1000,
        requests=100_000, batches=200, goals=(_rate(85), _cpu_per_request(35)),
    ),
    Case(
        "send 10 x 1000 B, 16 partitions, 16 clients", "send", 10, 1000,
        clients=16, partitions=16, requests=100_000, goals=(_rate(100), _median(1.7)),
    ),
)  # fmt: skip
