"""Allocations of the shard's thread for each ping of a logged-in client."""

import json
import subprocess
from collections.abc import Iterator

from benches.figures import Figure
from benches.programs import program

__all__ = ["measure"]


def measure() -> Iterator[Figure]:
    """What a counting allocator saw in a node of its own process."""
    said = subprocess.run(
        [program("ng-abi", "ping_allocations")], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    for report in map(json.loads, said.splitlines()):
        pings, allocations = report["pings"], report["allocations"]
        name = f"allocations of a ping, {report['backend']}"
        yield Figure(name, allocations / pings, "allocations", f"{allocations} for {pings} pings")
