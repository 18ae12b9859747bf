"""A mutant is one edit of one file, under a name that other edits do not change."""

from typing import Any

from tests.support.mutants.mutant import Mutant, Place, read_listing
from tests.support.mutants.sample import draw

TEXT = "fn a() {\n    // ä → b\n    x == y; z == y;\n}\n"


def entry(file: str, line: int, column: int, name: str, replacement: str = "!=") -> dict[str, Any]:
    """An entry as cargo-mutants lists it; the changed token has two characters."""
    start, end = {"line": line, "column": column}, {"line": line, "column": column + 2}
    return {
        "package": "ng-vsr",
        "file": file,
        "name": f"{file}:{line}:{column}: {name}",
        "replacement": replacement,
        "span": {"start": start, "end": end},
    }


def mutants(count: int) -> list[Mutant]:
    return [Mutant("ng-vsr", "a.rs", f"change {n}", Place(n, 1), Place(n, 2), "") for n in range(count)]


def test_a_mutant_changes_its_token_and_nothing_else() -> None:
    (mutant,) = read_listing([entry("a.rs", 3, 15, "replace == with != in a")])
    assert mutant.apply(TEXT) == TEXT.replace("z == y", "z != y")


def test_a_change_over_lines_is_made() -> None:
    whole = Mutant("ng-vsr", "a.rs", "replace a with ()", Place(2, 5), Place(3, 20), "()")
    assert whole.apply(TEXT) == "fn a() {\n    ()\n}\n"


def test_names_have_no_lines_and_equal_ones_are_numbered() -> None:
    name = "replace == with != in a"
    listed = read_listing([entry("a.rs", 3, 15, name), entry("a.rs", 3, 7, name), entry("b.rs", 9, 1, name)])
    assert [(each.file, each.name) for each in listed] == [
        ("a.rs", name),
        ("a.rs", f"{name} (2)"),
        ("b.rs", name),
    ]
    assert str(listed[1]) == f"a.rs:3:15: {name} (2)"


def test_planted_bugs_are_not_mutated() -> None:
    assert read_listing([entry("native/vsr/src/plant.rs", 1, 1, "replace x with y")]) == []


def test_a_sample_depends_on_its_seed_alone() -> None:
    sample = draw(mutants(200), 7, 20)
    assert len(sample) == 20
    assert sample == draw(mutants(200), 7, 20)
    assert sample != draw(mutants(200), 8, 20)
    assert [each.start.line for each in sample] == sorted(each.start.line for each in sample)


def test_a_mutant_that_goes_changes_one_member_of_a_sample() -> None:
    sample = draw(mutants(200), 7, 20)
    fewer = draw([each for each in mutants(200) if each != sample[3]], 7, 20)
    assert len(set(fewer) - set(sample)) == 1
