"""`python -m benches.load`: measures a node beside the null sink and prints a table."""

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Final

from benches.load.cases import CASES
from benches.load.comparison import Comparison, Setting, compare
from benches.load.table import table
from benches.machine import ROOT, fingerprint, is_build_fit, profile
from benches.nodes import backends

_PAIRS: Final = 3
_SECONDS: Final = 3.0


def main() -> int:
    """Measures what was asked for. A goal that is missed is shown, and is no failure."""
    arguments = _arguments()
    if not is_build_fit(any_build=arguments.any_build):
        return 2
    machine = fingerprint()
    setting = Setting(arguments.backend, arguments.folder, arguments.pairs, arguments.seconds)
    wanted = [
        case for case in CASES if not arguments.cases or any(part in case.name for part in arguments.cases)
    ]
    seen: list[Comparison] = []
    for number, case in enumerate(wanted, 1):
        print(f"[{number}/{len(wanted)}] {case.name}", file=sys.stderr)
        seen.append(compare(case, setting))
    print(
        f"Backend {setting.backend}, build {profile()}; load average before: {machine['load_before']:.1f}.\n"
    )
    print(table(seen))
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(
        json.dumps({"machine": machine, "cases": [_record(one) for one in seen]}, indent=1)
    )
    return 0


def _record(one: Comparison) -> dict[str, object]:
    runs = {"node": one.nodes, "sink": one.sinks, "open_loop": (one.open_loop,)}
    return {"case": one.case.name, **{name: [asdict(run) for run in of] for name, of in runs.items()}}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benches.load", description="Load a node through the real client."
    )
    parser.add_argument(
        "cases", nargs="*", metavar="CASE", help="cases with this in their name; all without any"
    )
    parser.add_argument(
        "--backend", choices=backends(), default=backends()[-1], help="how files and sockets are driven"
    )
    parser.add_argument(
        "--pairs", type=int, default=_PAIRS, help="pairs of runs that count; one more comes before"
    )
    parser.add_argument("--seconds", type=float, default=_SECONDS, help="the longest run")
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()), help="where nodes keep their data"
    )
    parser.add_argument("--any-build", action="store_true", help="measure whichever build is installed")
    parser.add_argument(
        "--json", type=Path, default=ROOT / "target" / "load.json", help="where the JSON goes"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
