"""The damage sweep from a shell: `make damage TRIALS=2000 SEED=1`, or one trial again."""

import argparse
import shlex
import shutil
import sys
import time
from pathlib import Path

from tests.support.damage.file_kind import FileKind
from tests.support.damage.sweep import Sweep
from tests.support.damage.table import render
from tests.support.damage.template_builder import build_templates
from tests.support.damage.trial import Outcome, Verdict


def main() -> int:
    """Returns 0 if no trial had a forbidden outcome."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.damage", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    parser.add_argument("--trials", type=int, default=2_000)
    parser.add_argument(
        "--folder", type=Path, default=Path("build/damage"), help="where templates and trials lie"
    )
    parser.add_argument("--keep", action="store_true", help="keep the directories of trials that fail")
    parser.add_argument("--rebuild", action="store_true", help="build the templates again")
    parser.add_argument(
        "--only", action="append", type=FileKind, metavar="KIND", help="a kind of file (repeatable)"
    )
    asked = parser.parse_args()
    folder = asked.folder.absolute() / f"seed-{asked.seed}"
    prepare(folder, asked.seed, rebuild=asked.rebuild)
    sweep = Sweep(folder, asked.seed, asked.keep, tuple(asked.only or FileKind))
    return show(sweep, asked.first, asked.trials)


def prepare(folder: Path, seed: int, *, rebuild: bool) -> None:
    """Builds the templates if there are none."""
    if rebuild:
        shutil.rmtree(folder, ignore_errors=True)
    for left in folder.glob("trial-*"):
        shutil.rmtree(left)
    if not any(folder.glob("*/template.json")):
        _say(f"building templates in {folder}")
        build_templates(folder, seed)


def show(sweep: Sweep, first: int, trials: int) -> int:
    """Prints progress, failures and the table."""
    began, verdicts, failed = time.monotonic(), list[Verdict](), 0
    for number, verdict in sweep.run(first, trials):
        verdicts.append(verdict)
        if verdict.outcome is Outcome.FORBIDDEN:
            failed += 1
            _say(describe_failure(sweep, number, verdict))
        if len(verdicts) % 50 == 0:
            rate = len(verdicts) / (time.monotonic() - began)
            _say(f"{len(verdicts)} of {trials} trials, {failed} forbidden, {rate:.2f} a second")
    _say(render(sweep.cells, verdicts))
    return 1 if failed else 0


def describe_failure(sweep: Sweep, number: int, verdict: Verdict) -> str:
    """The story of a failure, and the command that repeats the trial."""
    folder = sweep.folder.parent
    only = (
        "".join(f" --only {shlex.quote(kind)}" for kind in sweep.kinds)
        if sweep.kinds != tuple(FileKind)
        else ""
    )
    command = f"--folder {folder} --seed {sweep.seed} --first {number} --trials 1 --keep{only}"
    lines = [
        f"trial {number}: {verdict.cell.template}: {verdict.fault}",
        *(f"    {complaint}" for complaint in verdict.complaints),
        f"    again: .venv/bin/python -m tests.support.damage {command}",
    ]
    return "\n".join(lines)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
