"""Which machine, which build, and how busy it was: figures without these say nothing."""

import os
import platform
import subprocess
import sys
from pathlib import Path

from server_ng import binding

__all__ = ["ROOT", "fingerprint", "is_build_fit", "profile"]

ROOT = Path(__file__).resolve().parent.parent


def profile() -> str:
    """The cargo profile of the installed native library: ``ci``, or ``release`` for the optimised build."""
    return "ci" if binding.describe()["profile"] == "ci" else "release"


def is_build_fit(*, any_build: bool) -> bool:
    """Whether figures of the installed build say anything; tells what to do if they do not."""
    fit = any_build or profile() == "release"
    if not fit:
        print("The extension is not the optimised build: run `make release` first.", file=sys.stderr)
    return fit


def fingerprint() -> dict[str, object]:
    """What a reader needs to know in order to compare."""
    probe = binding.probe(ROOT)
    revision = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    return {
        "cpu": _cpu_model(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_mib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20,
        "kernel": platform.release(),
        "io_uring": probe["io_uring"],
        "python": platform.python_version(),
        "build": binding.describe(),
        "revision": revision,
        "load_before": os.getloadavg()[0],
    }


def _cpu_model() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
