"""Words that must not stand in the tree: one machine's folders, registries' addresses, work left undone."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.tidy.tree import Offence, Source, offences, planted, sources

# Spelled in pieces, so that this file does not offend against itself.
_MACHINE_PATH = re.compile(
    r"(?<![\w.$}>-])/(?:" + "|".join(["root", "work", "home", "tmp", "Users"]) + r")(?:/|\b)"
)
_REGISTRY = re.compile(
    r"\b(?:"
    + "|".join([r"crates\." + "io", r"pypi\." + "org", r"python" + r"hosted\.org", r"docs\." + "rs"])
    + r")\b"
)
_UNDONE = re.compile(r"\b(?:TO" + "DO|FIX" + "ME|XX" + r"X)\b")
_OUTSIDE = re.compile(
    r"\bshared/" + r"(?:design|reference|research|style|hooks)|\bissue #?\d+\b|\bdesign\.md\b"
)


def machine_paths(source: Source) -> Iterator[Offence]:
    """Folders that one machine has and the next has not; tests may name them."""
    if not source.is_test:
        yield from _found(source, _MACHINE_PATH, "a path of one machine")


def registry_hosts(source: Source) -> Iterator[Offence]:
    """Addresses of package registries; Cargo.lock is committed as cargo writes it."""
    if source.path.name != "Cargo.lock":
        yield from _found(source, _REGISTRY, "the address of a registry")


def undone_work(source: Source) -> Iterator[Offence]:
    """Notes to finish something later."""
    yield from _found(source, _UNDONE, "work left undone")


def outside_references(source: Source) -> Iterator[Offence]:
    """References that a reader of the tree cannot follow."""
    yield from _found(source, _OUTSIDE, "a reference to something outside of the tree")


def _found(source: Source, pattern: re.Pattern[str], reason: str) -> Iterator[Offence]:
    for number, line in enumerate(source.lines, start=1):
        if found := pattern.search(line):
            yield Offence(source.path, number, f"{reason}: {found[0]}")


def test_no_machine_paths(root: Path) -> None:
    assert offences(machine_paths, sources(root)) == []


def test_no_registry_hosts(root: Path) -> None:
    assert offences(registry_hosts, sources(root)) == []


def test_no_undone_work(root: Path) -> None:
    assert offences(undone_work, sources(root)) == []


def test_no_outside_references(root: Path) -> None:
    assert offences(outside_references, sources(root)) == []


def test_planted_words_are_found() -> None:
    text = "\n".join(
        ["cd /ro" + "ot/x", "see cr" + "ates.io", "# TO" + "DO later", "as sha" + "red/design says"]
    )
    for check, line in ((machine_paths, 1), (registry_hosts, 2), (undone_work, 3), (outside_references, 4)):
        (offence,) = check(planted("server_ng/serve.py", text))
        assert offence.line == line


def test_relative_and_variable_paths_are_allowed() -> None:
    text = "a/tmp/b ${HOME}/work $X/home <sys/tmp>\n/tmpfs /workers /rooted"
    assert offences(machine_paths, [planted("Makefile", text)]) == []
