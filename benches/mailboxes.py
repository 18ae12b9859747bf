"""A frame's way from shard to shard, as the criterion bench `mailbox` measured it last."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benches.figures import Figure
from benches.machine import ROOT

__all__ = ["measure"]

_ONE_CORE: Final = "mailbox hop_one core"
_ACROSS: Final = {
    "awake": "mailbox there and back_across cores, awake",
    "asleep": "mailbox there and back_across cores, asleep",
}


def measure() -> Iterator[Figure]:
    """Each hop across cores against one on a core; nothing if `cargo bench` has not run."""
    folder = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "criterion"
    one_core = _median(folder / _ONE_CORE)
    if one_core is None:
        return
    for state, name in _ACROSS.items():
        round_trip = _median(folder / name)
        if round_trip is not None:
            hop = round_trip / 2
            note = f"{hop:.0f} ns / {one_core:.0f} ns"
            yield Figure(f"mailbox hop across cores / on one core, {state}", hop / one_core, "x", note)


def _median(bench: Path) -> float | None:
    """Nanoseconds of an iteration."""
    estimates = bench / "new" / "estimates.json"
    if not estimates.is_file():
        return None
    return float(json.loads(estimates.read_text())["median"]["point_estimate"])
