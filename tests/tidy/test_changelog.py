"""The history is kept for readers: what changed, newest first, with a place for what is not released yet."""

import re
from pathlib import Path

KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")


def faults(changelog: str) -> list[str]:
    """What keeps a changelog from being one."""
    releases = re.findall(r"^## (.+)$", changelog, re.MULTILINE)
    found = [
        f"unknown kind of change: {kind}"
        for kind in re.findall(r"^### (.+)$", changelog, re.MULTILINE)
        if kind not in KINDS
    ]
    if releases[:1] != ["[Unreleased]"]:
        found.append("the first release is not [Unreleased]")
    found += [
        f"not a version and a date: {release}"
        for release in releases[1:]
        if not re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}", release)
    ]
    return found


def test_the_changelog_is_in_order(root: Path) -> None:
    assert faults((root / "CHANGELOG.md").read_text()) == []


def test_planted_faults_are_found() -> None:
    assert faults("# Changelog\n\n## [0.1.0] - 2026-01-02\n\n### Stuff\n") == [
        "unknown kind of change: Stuff",
        "the first release is not [Unreleased]",
    ]
    assert faults("## [Unreleased]\n\n## 0.1.0\n") == ["not a version and a date: 0.1.0"]
