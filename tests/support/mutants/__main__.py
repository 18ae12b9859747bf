"""Mutants from a shell: `make mutants`, which resumes the recorded campaigns."""

import argparse
import signal
import sys
import time
from pathlib import Path

from tests.support.mutants.campaign import CAMPAIGNS, Campaign, choose
from tests.support.mutants.mutant import Mutant
from tests.support.mutants.record import Outcome, Record
from tests.support.mutants.score import publish, render
from tests.support.mutants.working_copy import WorkingCopy

_ROOT = Path(__file__).resolve().parents[3]
_PAGE = _ROOT / "docs" / "mutants.md"


def main() -> int:
    """Judges the mutants that wait, then prints the scores and the survivors."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.mutants", description=__doc__)
    parser.add_argument(
        "--campaign",
        action="append",
        choices=[each.name for each in CAMPAIGNS],
        help="one campaign (repeatable; default: all)",
    )
    parser.add_argument(
        "--most", type=int, default=sys.maxsize, help="judge at most so many mutants of each campaign"
    )
    parser.add_argument(
        "--only", default="", metavar="REGEX", help="judge only mutants whose file and name match"
    )
    parser.add_argument("--again", action="store_true", help="judge survivors without a note again")
    parser.add_argument(
        "--folder",
        type=Path,
        default=_ROOT / "build/mutants",
        help="folder of the working copy and its build",
    )
    asked = parser.parse_args()
    # The default action would leave a judge behind, and the mutant in the copy.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    for campaign in CAMPAIGNS:
        if asked.campaign is None or campaign.name in asked.campaign:
            record, mutants = prepare(campaign)
            chosen = choose(record, mutants, asked.only, again=asked.again)
            judge(campaign, record, chosen[: asked.most], asked.folder.absolute())
            show(campaign, record, mutants)
    return 0


def prepare(campaign: Campaign) -> tuple[Record, list[Mutant]]:
    """The record for the tree as it is now."""
    record, mutants = campaign.load(_ROOT), campaign.list(_ROOT)
    record.follow(mutants)
    save(campaign, record)
    return record, mutants


def save(campaign: Campaign, record: Record) -> None:
    """Writes the record, and its score to the page of scores."""
    record.save(_ROOT / campaign.path)
    page = _PAGE.read_text(encoding="utf-8")
    _PAGE.write_text(publish(page, campaign.name, render(record.entries.values())), encoding="utf-8")


def judge(campaign: Campaign, record: Record, chosen: list[Mutant], folder: Path) -> None:
    """Judges one mutant after the other. Each verdict is saved before the next mutant is made."""
    if not chosen:
        return
    copy = WorkingCopy(_ROOT, folder / campaign.name)
    copy.refresh()
    bench = campaign.judge(copy, folder / "target")
    for number, mutant in enumerate(chosen, start=1):
        began = time.monotonic()
        verdict = bench.judge(mutant)
        record.settle(mutant, verdict)
        save(campaign, record)
        seed = "" if verdict.seed is None else f" by seed {verdict.seed}"
        seconds = time.monotonic() - began
        _say(f"{number} of {len(chosen)}, {seconds:.1f} s: {verdict.outcome}{seed}: {mutant}")


def show(campaign: Campaign, record: Record, mutants: list[Mutant]) -> None:
    """Prints the survivors, then the score."""
    _say(f"\n{campaign.name}: survivors")
    for each in mutants:
        entry = record.entries[each.file, each.name]
        if entry.verdict.outcome is Outcome.SURVIVED:
            _say(f"  {each}" + (f"\n      {entry.note}" if entry.note else ""))
    _say(f"\n{render(record.entries.values())}\n")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
