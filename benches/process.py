"""What the kernel says of a running process."""

from pathlib import Path

__all__ = ["cpu_nanos", "peak_rss", "rss", "shard_cpu", "shard_thread"]

_KIB = 1024


def rss(pid: int) -> int:
    """Resident bytes."""
    return _status(Path(f"/proc/{pid}/status"), "VmRSS")


def peak_rss(pid: int) -> int:
    """The most bytes that were ever resident."""
    return _status(Path(f"/proc/{pid}/status"), "VmHWM")


def cpu_nanos(pid: int) -> int:
    """Nanoseconds that the living threads were on a CPU."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)


def shard_thread(pid: int) -> int:
    """The kernel's number of the first shard's thread."""
    return next(
        int(task.name)
        for task in Path(f"/proc/{pid}/task").iterdir()
        if (task / "comm").read_text().strip() == "shard-0"
    )


def shard_cpu(pid: int) -> int:
    """The CPU that the first shard is pinned to."""
    status = Path(f"/proc/{pid}/task/{shard_thread(pid)}/status").read_text().splitlines()
    allowed = next(line.split()[1] for line in status if line.startswith("Cpus_allowed_list"))
    return int(allowed)


def _status(path: Path, name: str) -> int:
    lines = path.read_text().splitlines()
    return next(int(line.split()[1]) * _KIB for line in lines if line.startswith(f"{name}:"))
