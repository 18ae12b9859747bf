"""The count that closes a run in CI: nothing that failed, and nothing left out, passes for success."""

import subprocess
from pathlib import Path

import pytest

_CARGO = "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s"
_PYTEST = "============================== 30 passed in 3.21s =============================="


@pytest.mark.parametrize(
    ("log", "steps_failed", "closing", "status"),
    [
        ([_CARGO, "noise 3 passed", _CARGO, _PYTEST], 0, "54 passed, 0 failed", 0),
        ([_CARGO.replace("0 failed", "2 failed"), _PYTEST], 1, "42 passed, 2 failed", 1),
        ([_CARGO.replace("0 ignored", "1 ignored")], 0, "12 passed, 1 failed", 1),
        (
            ["=== 1 failed, 12 passed, 3 skipped, 2 errors in 63.21s (0:01:03) ==="],
            1,
            "12 passed, 6 failed",
            1,
        ),
        ([_CARGO, _PYTEST], 1, "42 passed, 1 failed", 1),
        (["========== no tests ran in 0.98s =========="], 0, "0 passed, 0 failed", 1),
        ([], 0, "0 passed, 0 failed", 1),
    ],
)
def test_the_count(
    root: Path, tmp_path: Path, log: list[str], steps_failed: int, closing: str, status: int
) -> None:
    path = tmp_path / "log"
    path.write_text("\n".join(log))
    done = subprocess.run(
        [root / ".ci/count-tests", "-v", f"steps_failed={steps_failed}", path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == (f"{closing}\n", status)
