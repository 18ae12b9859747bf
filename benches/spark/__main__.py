"""`python -m benches.spark`: writes a topic of a gigabyte, runs jobs on it, and prints a table."""

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from benches.machine import ROOT, fingerprint, is_build_fit, profile
from benches.spark.cases import MASTER, Bench, Rate, cases
from benches.spark.session import session
from benches.spark.topic import write_topic


def main() -> int:
    """Measures. A goal that is missed is shown, and is no failure."""
    arguments = _arguments()
    if not is_build_fit(any_build=arguments.any_build):
        return 2
    machine = fingerprint()
    found = _measured(arguments)
    print(f"Build {profile()}; load average before: {machine['load_before']:.1f}.\n")
    print("| case | measured | MB per CPU second | goal |\n|---|---|---|---|")
    for rate in found:
        cpu = "" if rate.per_cpu_second is None else f"{rate.per_cpu_second:,.4g}"
        print(f"| {rate.case} | {rate.value:,.4g} {rate.unit} | {cpu} | {rate.goal} |")
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    record = {"machine": machine, "cases": [asdict(rate) for rate in found]}
    arguments.json.write_text(json.dumps(record, indent=1))
    return 0


def _measured(arguments: argparse.Namespace) -> list[Rate]:
    spark = session(MASTER)
    found = []
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        topic = write_topic(Path(folder) / "lease", arguments.megabytes * 1_000_000)
        print(f"{topic.bytes / 1e6:,.0f} MB, {topic.messages:,} messages", file=sys.stderr)
        for rate in cases(Bench(topic, spark, Path(folder), arguments.runs)):
            print(f"{rate.case}: {rate.value:,.4g} {rate.unit}", file=sys.stderr)
            found.append(rate)
    spark.stop()
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benches.spark", description="Measure jobs on a topic.")
    parser.add_argument("--megabytes", type=int, default=1_000, help="of the topic (1000)")
    parser.add_argument("--runs", type=int, default=3, help="of which the best counts (3)")
    parser.add_argument("--folder", type=Path, help="where the data lies")
    parser.add_argument("--any-build", action="store_true", help="with whichever extension is installed")
    parser.add_argument("--json", type=Path, default=ROOT / "target" / "benches-spark.json")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
