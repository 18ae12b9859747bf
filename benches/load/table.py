"""The table that is printed."""

from collections.abc import Iterable, Sequence

from benches.load.comparison import Comparison

__all__ = ["table"]

_HEADING = (
    "case",
    "MB/s",
    "requests/s",
    "of the sink",
    "p50 ms",
    "p99 ms",
    "open loop p50, p99 ms",
    "CPU us/request",
    "CPU s/GB",
    "sink CPU s/GB",
    "RSS MiB",
    "goals",
)


def table(seen: Iterable[Comparison]) -> str:
    """All cases as Markdown."""
    rows = [_HEADING, ("---",) * len(_HEADING), *(_row(one) for one in seen)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(one: Comparison) -> Sequence[str]:
    node, opened = one.node, one.open_loop
    goals = [f"{goal.text} {'met' if goal.met(node) else 'MISSED'}" for goal in one.case.goals]
    return (
        one.case.name,
        f"{node.megabytes_per_second:.1f}",
        f"{node.requests_per_second:.0f}",
        f"{one.fraction:.2f}",
        f"{node.p50_ns / 1e6:.3f}",
        f"{node.p99_ns / 1e6:.3f}",
        f"{opened.p50_ns / 1e6:.3f}, {opened.p99_ns / 1e6:.3f}",
        f"{node.cpu_us_per_request:.1f}",
        f"{node.cpu_seconds_per_gigabyte:.2f}",
        f"{one.sink.cpu_seconds_per_gigabyte:.2f}",
        f"{node.server_resident_bytes / 2**20:.0f}",
        "; ".join(goals),
    )
