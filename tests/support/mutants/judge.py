"""The judges: the unit tests of the mutated crate, or the simulator alone."""

import json
import os
import re
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.support.mutants.bounded_run import Ending, run
from tests.support.mutants.mutant import Mutant
from tests.support.mutants.record import Outcome, Verdict
from tests.support.mutants.working_copy import WorkingCopy

__all__ = ["Judge", "Simulator", "UnitTests"]

# A mutant changes one function: optimization across the parts of a crate makes each build six times as long.
# Nobody reads line tables here.
_BUILD: Final = {
    "CARGO_PROFILE_CI_DEBUG": "0",
    "CARGO_PROFILE_CI_INCREMENTAL": "true",
    "CARGO_PROFILE_CI_LTO": "off",
    "CARGO_PROFILE_CI_OPT_LEVEL": "1",
}
# A run that takes this many times the CPU time of the longest one without a mutant hangs.
_HANG: Final = 5
_FAILED_TEST: Final = re.compile(r"^test .* \.\.\. FAILED$")
_FAILED_WORLD: Final = re.compile(r"^seed (?P<seed>\d+): ")
_WORLDS: Final = 2_000
# One run of the simulator: a world that hangs costs a few times as many worlds.
_WORLDS_AT_ONCE: Final = 100
_WORLDS_MEASURED: Final = 300


@dataclass
class Judge(ABC):
    """Judges mutants in a working copy, one after the other."""

    copy: WorkingCopy
    target: Path
    # The CPU time of the longest run without a mutant, by what is built.
    usual: dict[str, float] = field(default_factory=dict)

    @abstractmethod
    def subject(self, package: str) -> str:
        """The package to build, of which a mutated package is a part."""

    @abstractmethod
    def build(self, package: str) -> list[Path] | None:
        """The programs that judge, or none if the source does not compile."""

    @abstractmethod
    def observe(
        self, programs: Sequence[Path], package: str, cpu_seconds: float | None
    ) -> tuple[Verdict, float]:
        """Runs each for so much CPU time, until one notices something; returns the time of the longest."""

    def judge(self, mutant: Mutant) -> Verdict:
        """Builds the copy with the mutant, and runs it."""
        subject = self.subject(mutant.package)
        if subject not in self.usual:
            self.usual[subject] = self._measure(subject)
        with self.copy.with_mutant(mutant):
            programs = self.build(subject)
            if programs is None:
                return Verdict(Outcome.UNVIABLE)
            verdict, _ = self.observe(programs, subject, _HANG * self.usual[subject])
            return verdict

    def _measure(self, package: str) -> float:
        programs = self.build(package)
        assert programs is not None, f"{package} does not compile without a mutant"
        verdict, longest = self.observe(programs, package, None)
        assert verdict.outcome is Outcome.SURVIVED, f"{package} fails without a mutant: {verdict}"
        return longest

    def cargo(self, *arguments: str) -> list[Path] | None:
        """Builds with cargo: the programs, or none if the source does not compile."""
        done = subprocess.run(
            ["cargo", *arguments, "--profile", "ci", "--locked", "--message-format", "json"],
            cwd=self.copy.folder,
            env=os.environ | _BUILD | {"CARGO_TARGET_DIR": str(self.target)},
            capture_output=True,
            text=True,
            check=False,
        )
        messages = [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode:
            is_source = any(each.get("message", {}).get("level") == "error" for each in messages)
            assert is_source, f"cargo fails, and not for the source:\n{done.stderr}"
            return None
        return [Path(each["executable"]) for each in messages if each.get("executable")]


class UnitTests(Judge):
    """The tests of the mutated crate. The first one that fails is enough."""

    def subject(self, package: str) -> str:
        """The mutated crate itself."""
        return package

    def build(self, package: str) -> list[Path] | None:
        """The test programs of the crate."""
        return self.cargo("test", "--no-run", "--tests", "--package", package)

    def observe(
        self, programs: Sequence[Path], package: str, cpu_seconds: float | None
    ) -> tuple[Verdict, float]:
        """Runs one program after the other."""
        folder, longest = self.copy.folder / "native" / package.removeprefix("ng-"), 0.0
        for program in programs:
            done = run([str(program)], folder, _FAILED_TEST, cpu_seconds)
            longest = max(longest, done.cpu_seconds)
            if done.ending is not Ending.WELL:
                outcome = Outcome.HANG if done.ending is Ending.LIMIT else Outcome.CAUGHT
                return Verdict(outcome), longest
        return Verdict(Outcome.SURVIVED), longest


class Simulator(Judge):
    """Ordinary storms, and nothing else. A world that fails is enough, if it holds without the mutant."""

    def subject(self, package: str) -> str:
        """The simulator, whose build has every mutated crate in it."""
        return "ng-sim"

    def build(self, package: str) -> list[Path] | None:
        """The simulator."""
        return self.cargo("build", "--package", package, "--bin", package)

    def observe(
        self, programs: Sequence[Path], package: str, cpu_seconds: float | None
    ) -> tuple[Verdict, float]:
        """Lives the worlds a hundred at a time; only the first few without a limit, thus without a mutant."""
        (program,), longest = programs, 0.0
        if cpu_seconds is None:
            shutil.copy2(program, self._sound)
        for first in range(1, _WORLDS if cpu_seconds is not None else _WORLDS_MEASURED, _WORLDS_AT_ONCE):
            command = [str(program), "--seed", str(first), "--seeds", str(_WORLDS_AT_ONCE)]
            done = run(command, self.copy.folder, _FAILED_WORLD, cpu_seconds)
            longest = max(longest, done.cpu_seconds)
            if done.ending is Ending.LIMIT:
                return Verdict(Outcome.HANG, first), longest
            if done.ending is Ending.BADLY:
                found = _FAILED_WORLD.match(done.line)
                seed = int(found["seed"]) if found else first
                self._check_sound(seed)
                return Verdict(Outcome.CAUGHT, seed), longest
        return Verdict(Outcome.SURVIVED), longest

    @property
    def _sound(self) -> Path:
        """The program without a mutant."""
        return self.target / "ng-sim-sound"

    def _check_sound(self, seed: int) -> None:
        command = [str(self._sound), "--seed", str(seed), "--seeds", "1"]
        done = run(command, self.copy.folder, _FAILED_WORLD)
        assert done.ending is Ending.WELL, f"world {seed} fails without a mutant"
