"""`python -m benches`: measures, prints a table, writes JSON, and fails if a count is not what it was."""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from benches import (
    allocations,
    batches,
    boundary,
    footprint,
    idle_connections,
    mailboxes,
    partitions,
    round_trips,
    system_calls,
)
from benches.figures import Baselines, Figure, Verdict, as_json, table
from benches.machine import ROOT, fingerprint, is_build_fit

Part = Callable[[], Iterator[Figure]]

_PARTS: Final[Mapping[str, Part]] = {
    "footprint": footprint.measure,
    "idle-connections": idle_connections.measure,
    "system-calls": system_calls.measure,
    "allocations": allocations.measure,
    "batches": batches.measure,
    "round-trips": round_trips.measure,
    "boundary": boundary.measure,
    "mailboxes": mailboxes.measure,
    "partitions": partitions.measure,
}
_COUNTS: Final[tuple[Part, ...]] = (
    footprint.measure_memory,
    system_calls.measure,
    allocations.measure,
    batches.measure,
)


def main() -> int:
    """Runs what was asked for; the exit status is 1 if a count differs from its baseline."""
    arguments = _arguments()
    if not is_build_fit(any_build=arguments.counts):
        return 2
    machine = fingerprint()
    parts = _COUNTS if arguments.counts else [_PARTS[name] for name in arguments.parts or _PARTS]
    figures: list[Figure] = []
    for part in parts:
        for figure in part():
            print(f"{figure.name}: {figure.value:.4g} {figure.unit}  {figure.note}".rstrip(), file=sys.stderr)
            figures.append(figure)
    baselines = Baselines(ROOT / "benches" / "baselines")
    print(table(figures, baselines))
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(as_json(figures, baselines, machine))
    return int(any(baselines.judge(figure) is Verdict.DIFFERS for figure in figures))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benches", description="Measure a whole server.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"what to measure: {', '.join(_PARTS)}")
    parser.add_argument(
        "--counts", action="store_true", help="counts only, with whichever build is installed"
    )
    parser.add_argument(
        "--json", type=Path, default=ROOT / "target" / "benches.json", help="where the JSON goes"
    )
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(_PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
