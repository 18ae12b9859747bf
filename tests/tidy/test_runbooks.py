"""Each way to end, and each alert, has a page for the one who is woken by it."""

import re
from pathlib import Path

from server_ng.wire.tables import ExitStatus

HEADINGS = ["What it means", "What you see", "What to do", "What not to do"]


def faults(folder: Path) -> list[str]:
    """What the runbooks lack."""
    index = (folder / "README.md").read_text()
    found = []
    for status in ExitStatus:
        if status is ExitStatus.CLEAN:
            continue
        page = folder / f"exit-{status.value}.md"
        if not page.is_file():
            found.append(f"{page.name} is missing")
    for page in sorted(folder.glob("*.md")):
        if page.name == "README.md":
            continue
        if re.findall(r"^## (.+)$", page.read_text(), re.MULTILINE) != HEADINGS:
            found.append(f"{page.name} has other headings")
        if f"({page.name})" not in index:
            found.append(f"README.md does not lead to {page.name}")
    known = {f"exit-{status.value}.md" for status in ExitStatus}
    return found + [
        f"{page.name} is for no status" for page in folder.glob("exit-*.md") if page.name not in known
    ]


def test_each_exit_status_has_a_page(root: Path) -> None:
    assert faults(root / "deploy/runbooks") == []


def test_planted_faults_are_found(root: Path, tmp_path: Path) -> None:
    for page in (root / "deploy/runbooks").glob("*.md"):
        (tmp_path / page.name).write_text(page.read_text())
    (tmp_path / "exit-70.md").unlink()
    (tmp_path / "exit-74.md").write_text("# Nothing\n")
    (tmp_path / "exit-99.md").write_text("# Nothing\n")
    assert faults(tmp_path) == [
        "exit-70.md is missing",
        "exit-74.md has other headings",
        "exit-99.md has other headings",
        "README.md does not lead to exit-99.md",
        "exit-99.md is for no status",
    ]
