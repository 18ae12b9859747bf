"""A record keeps every verdict, says what waits, and gives the score."""

from pathlib import Path

import pytest

from tests.support.mutants.campaign import CAMPAIGNS, Campaign, choose
from tests.support.mutants.mutant import Mutant, Place
from tests.support.mutants.record import Entry, Outcome, Record, Verdict
from tests.support.mutants.score import Score, publish, render

FILE = "native/vsr/src/quorum.rs"
OTHER = "native/partition/src/gaps.rs"


def mutant(name: str, file: str = FILE) -> Mutant:
    return Mutant("ng-vsr", file, name, Place(1, 1), Place(1, 2), "")


def record() -> Record:
    """One mutant of each outcome."""
    made = Record("# A head.\n# Of two lines.\n")
    made.put(Entry(FILE, "replace f -> bool with true", Verdict(Outcome.CAUGHT, 17)))
    made.put(Entry(FILE, "delete ! in f", Verdict(Outcome.HANG, 101)))
    made.put(Entry(FILE, "replace < with <= in f", Verdict(Outcome.SURVIVED), "Equivalent: never equal."))
    made.put(Entry(FILE, "replace < with <= in f (2)", Verdict(Outcome.SURVIVED)))
    made.put(Entry(OTHER, "replace g with ()", Verdict(Outcome.UNVIABLE)))
    made.put(Entry(OTHER, "replace + with - in g"))
    return made


def test_a_record_reads_what_it_writes() -> None:
    assert Record.parse(record().render()) == record()


def test_a_long_sentence_may_be_wrapped() -> None:
    wrapped = record().render().replace("Equivalent: never", "Equivalent:\n                never")
    assert Record.parse(wrapped) == record()


def test_a_line_that_is_not_understood_is_refused() -> None:
    with pytest.raises(AssertionError, match="not understood"):
        Record.parse("  Caught\n")


def test_a_record_is_saved_whole(tmp_path: Path) -> None:
    record().save(tmp_path / "simulator.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["simulator.txt"]
    assert Record.parse((tmp_path / "simulator.txt").read_text()) == record()


def test_verdicts_follow_the_source() -> None:
    followed = record()
    followed.follow([mutant("new"), mutant("delete ! in f"), mutant("replace + with - in g", OTHER)])
    assert [(each.name, each.verdict.outcome) for each in followed.entries.values()] == [
        ("new", Outcome.WAITING),
        ("delete ! in f", Outcome.HANG),
        ("replace + with - in g", Outcome.WAITING),
    ]


def test_a_run_resumes_with_what_waits() -> None:
    resumed = record()
    known = [mutant(each.name, each.file) for each in resumed.entries.values()]
    assert [each.name for each in choose(resumed, known, "", again=False)] == ["replace + with - in g"]
    resumed.settle(mutant("replace + with - in g", OTHER), Verdict(Outcome.CAUGHT))
    assert choose(resumed, known, "", again=False) == []


def test_survivors_without_a_sentence_are_judged_again() -> None:
    known = [mutant(each.name, each.file) for each in record().entries.values()]
    assert [each.name for each in choose(record(), known, "", again=True)] == [
        "replace < with <= in f (2)",
        "replace + with - in g",
    ]
    assert [each.name for each in choose(record(), known, "gaps.rs", again=True)] == ["replace + with - in g"]


def test_a_note_stays_with_a_survivor_alone() -> None:
    settled, noted = record(), mutant("replace < with <= in f")
    settled.settle(noted, Verdict(Outcome.SURVIVED))
    assert settled.entries[FILE, noted.name].note == "Equivalent: never equal."
    settled.settle(noted, Verdict(Outcome.CAUGHT, 3))
    assert settled.entries[FILE, noted.name] == Entry(FILE, noted.name, Verdict(Outcome.CAUGHT, 3))


def test_the_score_counts_viable_mutants() -> None:
    score = Score.of(record().entries.values())
    assert score == Score(judged=5, viable=4, caught=2, survived=2, equivalent=1, waiting=1)
    assert score.percent == 50.0
    assert Score.of([]).percent == 0.0


def test_the_table_has_a_row_for_each_crate() -> None:
    rows = render(record().entries.values()).splitlines()[2:]
    assert [row.split(" | ")[0] for row in rows] == ["| vsr", "| partition", "| all"]
    assert rows[0] == "| vsr | 4 | 4 | 2 | 50.0 % | 2 | 1 | 0 |"


def test_a_score_replaces_the_one_before() -> None:
    page = "<!-- score: a -->\n| 1 |\n| 2 |\n\nText.\n\n<!-- score: b -->\n"
    assert publish(page, "a", "| 3 |") == "<!-- score: a -->\n| 3 |\n\nText.\n\n<!-- score: b -->\n"
    assert publish(page, "b", "| 3 |") == f"{page}| 3 |\n"


@pytest.mark.parametrize("campaign", CAMPAIGNS, ids=lambda campaign: campaign.name)
def test_the_page_shows_the_recorded_score(root: Path, campaign: Campaign) -> None:
    table = render(campaign.load(root).entries.values())
    page = (root / "docs" / "mutants.md").read_text(encoding="utf-8")
    assert publish(page, campaign.name, table) == page


@pytest.mark.parametrize("campaign", CAMPAIGNS, ids=lambda campaign: campaign.name)
def test_a_committed_record_is_as_the_tool_writes_it(root: Path, campaign: Campaign) -> None:
    assert campaign.load(root).render() == (root / campaign.path).read_text(encoding="utf-8")
