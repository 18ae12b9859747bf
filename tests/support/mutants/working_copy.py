"""A copy of the tree in which mutants are made: the tree itself is never changed."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.mutants.mutant import Mutant

__all__ = ["WorkingCopy"]


@dataclass(frozen=True, slots=True)
class WorkingCopy:
    """Every file that git keeps or would add."""

    root: Path
    folder: Path

    def refresh(self) -> None:
        """Makes the copy equal to the tree. Equal files keep their times, so that cargo builds little."""
        kept = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=self.root,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split("\0")
        names = {name for name in kept if name and (self.root / name).is_file()}
        for path in self.folder.rglob("*"):
            if path.is_file() and str(path.relative_to(self.folder)) not in names:
                path.unlink()
        for name in names:
            _copy(self.root / name, self.folder / name)

    @contextmanager
    def with_mutant(self, mutant: Mutant) -> Iterator[None]:
        """The copy has the mutant's change."""
        path = self.folder / mutant.file
        original = path.read_text(encoding="utf-8")
        path.write_text(mutant.apply(original), encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(original, encoding="utf-8")


def _copy(source: Path, target: Path) -> None:
    content = source.read_bytes()
    if target.is_file() and target.read_bytes() == content:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    target.chmod(source.stat().st_mode)
