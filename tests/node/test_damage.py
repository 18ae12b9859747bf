"""The damage sweep in short: whatever file is damaged, nothing acknowledged is lost in silence."""

import os
import sys
from typing import Final

import pytest

from tests.support.damage.__main__ import describe_failure
from tests.support.damage.fault import FaultKind
from tests.support.damage.file_kind import FileKind
from tests.support.damage.sweep import Sweep
from tests.support.damage.table import render
from tests.support.damage.template_builder import build_templates
from tests.support.damage.trial import Outcome
from tests.support.fixtures import LONG

TRIALS: Final = int(os.environ.get("NG_DAMAGE_TRIALS", "2000" if LONG else "60"))
SEED: Final = int(os.environ.get("NG_SEED", "1"))

pytestmark = pytest.mark.timeout(14_400 if LONG else 600)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """A sweep on templates of its own."""
    folder = tmp_path_factory.mktemp("damage") / f"seed-{SEED}"
    build_templates(folder, SEED)
    return Sweep(folder, SEED)


def test_a_short_sweep_reaches_every_kind_of_file_and_of_fault(sweep: Sweep) -> None:
    reached = [sweep.cells.at(number) for number in range(60)]
    assert {cell.file_kind for cell in reached} == set(FileKind)
    assert {cell.fault for cell in reached} == set(FaultKind)
    assert len({cell.template for cell in reached}) == 6


def test_damage_is_repaired_fenced_or_refused_with_a_remedy_that_works(
    sweep: Sweep, capsys: pytest.CaptureFixture[str]
) -> None:
    verdicts = dict(sweep.run(0, TRIALS))
    with capsys.disabled():
        sys.stdout.write(f"\n{render(sweep.cells, list(verdicts.values()))}\n")
    failed = [
        describe_failure(sweep, number, verdict)
        for number, verdict in verdicts.items()
        if verdict.outcome is Outcome.FORBIDDEN
    ]
    assert failed == [], "\n".join(failed)
