"""Where the limit of memory comes from: the files that kernels show, below a temporary folder."""

import os
from pathlib import Path

import pytest

from server_ng.bootstrap.memory import MemoryLimit, group_limits, memory_limit, send_buffer_max

_MIB = 1 << 20
_UNLIMITED_V1 = "9223372036854771712"
_STAT_V1 = (
    "cache 4096\nrss 8192\nhierarchical_memory_limit {}\nhierarchical_memsw_limit 9223372036854771712\n"
)


class Kernel:
    """The files of ``/proc/self`` and ``/sys/fs/cgroup`` below a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "proc/self").mkdir(parents=True)

    def shows(self, own: str, mounts: list[str]) -> None:
        """What the process reads of its groups and of what is mounted."""
        (self.root / "proc/self/cgroup").write_text(own)
        (self.root / "proc/self/mountinfo").write_text("".join(f"{line}\n" for line in mounts))

    def limits(self, folder: str, **files: str) -> None:
        """The files of a group, dots for underscores."""
        place = self.root / folder
        place.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (place / name.replace("memory_", "memory.", 1)).write_text(f"{text}\n")

    def lowest(self) -> tuple[int, str] | None:
        """The lowest limit and where it is read, below the folder."""
        found = min(group_limits(self.root), key=lambda limit: limit.bytes, default=None)
        return None if found is None else (found.bytes, str(Path(found.source).relative_to(self.root)))


_V2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"
_V1 = "38 32 0:33 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory"
_SLICE = "sys/fs/cgroup/system.slice"
_SERVICE = f"{_SLICE}/server-ng.service"


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    """One that shows nothing yet."""
    return Kernel(tmp_path)


@pytest.mark.parametrize(
    ("service", "around", "expected"),
    [
        ("max", None, None),
        (str(512 * _MIB), None, (512 * _MIB, f"{_SERVICE}/memory.max")),
        ("max", str(256 * _MIB), (256 * _MIB, f"{_SLICE}/memory.max")),
        (str(_MIB), str(256 * _MIB), (_MIB, f"{_SERVICE}/memory.max")),
    ],
)
def test_version_2_the_lowest_limit_around_counts(
    kernel: Kernel, service: str, around: str | None, expected: tuple[int, str] | None
) -> None:
    kernel.shows("0::/system.slice/server-ng.service\n", [_V2])
    kernel.limits(_SERVICE, memory_max=service, memory_high="max")
    if around is not None:
        kernel.limits(_SLICE, memory_max=around)
    assert kernel.lowest() == expected


def test_version_2_throttling_counts_as_a_limit(kernel: Kernel) -> None:
    kernel.shows("0::/system.slice/server-ng.service\n", [_V2])
    kernel.limits(_SERVICE, memory_max=str(512 * _MIB), memory_high=str(300 * _MIB))
    assert kernel.lowest() == (300 * _MIB, f"{_SERVICE}/memory.high")


def test_version_1_the_lowest_limit_around_counts(kernel: Kernel) -> None:
    kernel.shows(
        "9:name=systemd:/\n4:cpu,memory:/pods/one\n0::/\n", [_V1.replace("rw,memory", "rw,cpu,memory"), _V2]
    )
    folder = "sys/fs/cgroup/memory/pods"
    kernel.limits(f"{folder}/one", memory_limit_in_bytes=_UNLIMITED_V1)
    kernel.limits(folder, memory_limit_in_bytes=str(256 * _MIB))
    assert kernel.lowest() == (256 * _MIB, f"{folder}/memory.limit_in_bytes")


def test_version_1_a_limit_outside_of_what_a_container_sees_counts(kernel: Kernel) -> None:
    # Without a namespace a container sees its group at the mount, and the path of the machine elsewhere.
    kernel.shows("4:memory:/docker/0123\n", [_V1.replace("0:33 / ", "0:33 /docker/0123 ")])
    folder = "sys/fs/cgroup/memory"
    kernel.limits(folder, memory_limit_in_bytes=_UNLIMITED_V1, memory_stat=_STAT_V1.format(128 * _MIB))
    assert kernel.lowest() == (128 * _MIB, f"{folder}/memory.stat")


def test_a_group_that_is_not_below_the_mount_is_read_at_the_mount(kernel: Kernel) -> None:
    kernel.shows("0::/../other\n", [_V2.replace("0:26 / ", "0:26 /pods/one ")])
    kernel.limits("sys/fs/cgroup", memory_max=str(64 * _MIB))
    assert kernel.lowest() == (64 * _MIB, "sys/fs/cgroup/memory.max")


def test_a_mount_with_a_blank_in_its_path_is_found(kernel: Kernel) -> None:
    kernel.shows("0::/\n", [_V2.replace("/sys/fs/cgroup", r"/sys/my\040groups")])
    kernel.limits("sys/my groups", memory_max=str(64 * _MIB))
    assert kernel.lowest() == (64 * _MIB, "sys/my groups/memory.max")


@pytest.mark.parametrize("own", ["", "nonsense\n", "4:memory:/gone\n", "0::/gone\n"])
def test_what_is_missing_or_strange_is_no_limit(kernel: Kernel, own: str) -> None:
    kernel.shows(own, [_V1, _V2, "nonsense", "1 2 - x"])
    assert kernel.lowest() is None


def test_without_proc_the_machine_is_the_limit(tmp_path: Path) -> None:
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert memory_limit(tmp_path) == MemoryLimit(machine, "machine")


def test_this_machine_has_a_limit() -> None:
    assert 0 < memory_limit().bytes <= memory_limit(Path("/nowhere")).bytes


def test_sockets_count_against_a_limit_of_version_2_alone(kernel: Kernel) -> None:
    kernel.shows("5:memory:/one\n0::/two\n", [_V2, _V1])
    kernel.limits("sys/fs/cgroup/memory/one", memory_limit_in_bytes=str(128 * _MIB))
    kernel.limits("sys/fs/cgroup/two", memory_max=str(256 * _MIB))
    found = {limit.bytes: limit.has_sockets for limit in group_limits(kernel.root)}
    assert found == {128 * _MIB: False, 256 * _MIB: True}


@pytest.mark.parametrize(("text", "expected"), [("4096\t16384\t4194304\n", 4 * _MIB), ("", 0), ("a b c", 0)])
def test_the_largest_send_buffer_is_the_third_number(tmp_path: Path, text: str, expected: int) -> None:
    assert send_buffer_max(tmp_path) == 0
    (tmp_path / "proc/sys/net/ipv4").mkdir(parents=True)
    (tmp_path / "proc/sys/net/ipv4/tcp_wmem").write_text(text)
    assert send_buffer_max(tmp_path) == expected
