"""What a ping and an idle server cost in counts: what the committed baselines say, on every backend."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benches.figures import Baselines, Figure, Verdict


@pytest.fixture
def baselines(root: Path) -> Baselines:
    return Baselines(root / "benches" / "baselines")


@pytest.mark.timeout(900)
def test_the_counts_are_those_of_the_baselines(root: Path, tmp_path: Path, baselines: Baselines) -> None:
    """Aim: a change that adds a call, an allocation or memory is seen. Method: measure and compare all."""
    report = tmp_path / "counts.json"
    done = subprocess.run(
        [sys.executable, "-m", "benches", "--counts", "--json", report],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    figures = {figure["name"]: figure["verdict"] for figure in json.loads(report.read_text())["figures"]}
    assert figures == dict.fromkeys(baselines.counts, Verdict.SAME.value), done.stdout


def test_a_count_that_differs_is_told_from_one_that_does_not(baselines: Baselines) -> None:
    name = "allocations of a ping, posix"
    assert baselines.judge(Figure(name, 0, "allocations")) is Verdict.SAME
    assert baselines.judge(Figure(name, 0.0001, "allocations")) is Verdict.DIFFERS


def test_a_ratio_is_compared_loosely_but_held_to_its_bound(tmp_path: Path) -> None:
    (tmp_path / "counts.json").write_text("{}")
    (tmp_path / "ratios.json").write_text(json.dumps({"ping / echo": {"value": 1.1, "at_most": 1.3}}))
    baselines = Baselines(tmp_path)
    judged = [baselines.judge(Figure("ping / echo", value, "x")) for value in (1.0, 1.2, 0.5, 1.31)]
    assert judged == [Verdict.SAME, Verdict.SAME, Verdict.MOVED, Verdict.MISSED]
    assert baselines.judge(Figure("another", 1, "x")) is Verdict.NEW
