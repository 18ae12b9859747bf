"""Many trials, two at a time, from one seed."""

import contextlib
import io
import random
import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from tests.support.damage.cells import Cells
from tests.support.damage.file_kind import FileKind
from tests.support.damage.template import Template
from tests.support.damage.trial import Outcome, Verdict, run_trial

__all__ = ["Sweep"]

_SIDE_BY_SIDE: Final = 2


@dataclass(frozen=True, slots=True)
class Sweep:
    """Trials on the templates of a folder."""

    folder: Path
    seed: int
    keeps_failures: bool = False
    kinds: tuple[FileKind, ...] = tuple(FileKind)

    @property
    def cells(self) -> Cells:
        """What the trials walk through."""
        return _cells(self.folder, self.seed, self.kinds)

    def run(self, first: int, trials: int) -> Iterator[tuple[int, Verdict]]:
        """Runs trials by their numbers; each verdict with the number, in the order in which they began."""
        with ProcessPoolExecutor(_SIDE_BY_SIDE, mp_context=get_context("spawn")) as pool:
            running: list[tuple[int, Future[Verdict]]] = []
            for number in range(first, first + trials):
                running.append((number, pool.submit(self.try_one, number)))
                if len(running) > 2 * _SIDE_BY_SIDE:
                    done, ended = running.pop(0)
                    yield done, ended.result()
            for number, ended in running:
                yield number, ended.result()

    def try_one(self, number: int) -> Verdict:
        """Runs one trial."""
        folder = self.folder / f"trial-{number}"
        folder.mkdir()
        templates = self._templates()
        dice = random.Random(f"{self.seed}-{number}")
        # A node shows its log when it is closed, which is of use to nothing but a trial that failed.
        with contextlib.redirect_stdout(io.StringIO()):
            verdict = run_trial(self.cells.at(number), templates, dice, folder)
        if verdict.outcome is not Outcome.FORBIDDEN or not self.keeps_failures:
            shutil.rmtree(folder)
        return verdict

    def _templates(self) -> tuple[Template, ...]:
        return _load(self.folder)


@cache
def _load(folder: Path) -> tuple[Template, ...]:
    return tuple(Template.load(path.parent) for path in sorted(folder.glob("*/template.json")))


@cache
def _cells(folder: Path, seed: int, kinds: tuple[FileKind, ...]) -> Cells:
    return Cells.of(_load(folder), seed, kinds)
