"""What a task holds in memory: some batches of a segment, however long that is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from server_ng.segments.footer import Footer
from server_ng.segments.lease import SegmentCut
from server_ng.segments.sealed_writer import SealedWriter
from tests.spark.topics import sealed
from tests.support.fixtures import LONG
from tests.support.lease_files import BASE_TIME, Message, WrittenSegment, batch, headers, write_lease

SEGMENT_BYTES = (1 << 30) if LONG else (256 << 20)
PAYLOAD = b"x" * 32_000
PER_BATCH = 32
BOUND = 128 << 20
"""Pieces of 8 MiB of the file and the columns made of them, some of each, and what a task imports."""

SCRIPT = """
import sys
from pathlib import Path

directory, target = map(Path, sys.argv[1:])

def memory(name):
    return int(Path("/proc/self/status").read_text().partition(f"{name}:")[2].split()[0]) << 10

BEGIN
Path("/proc/self/clear_refs").write_text("5")
before = memory("VmRSS")
JOB
print(memory("VmHWM") - before)
"""
READ = (
    """
from server_ng.spark.options import Options
from server_ng.spark.schema import declared
from server_ng.spark.source import TopicReader

options = Options.parse({"path": str(directory), "maxBytesPerPartition": str(1 << 40)})
reader = TopicReader(options, declared(options))
(task,) = reader.partitions()
""",
    "assert sum(batch.num_rows for batch in reader.read(task)) > 1_000",
)
EXPORT = (
    """
from server_ng.segments.lease import Lease
from server_ng.spark.cutter import HeldLease
from server_ng.spark.export.job import Settings, export, on_threads
from server_ng.spark.export.opening import open_target
from server_ng.spark.export.rows import Shape

leased = HeldLease(directory, Lease.read(directory))
table = open_target("parquet", str(target), {})
""",
    "assert export(leased, table, Settings(Shape(), file_bytes=1 << 40), on_threads).rows > 1_000",
)
COMPACT = (
    """
from server_ng.segments.lease import Lease
from server_ng.spark.compact.partition import PartitionTask, compact
from server_ng.spark.compact.rules import Rules

lease = Lease.read(directory)
task = PartitionTask(directory, lease.partitions[0], lease.cut_at, Rules(segment_bytes=1 << 40), dry=False)
""",
    "assert len(compact(task).outputs) == 1",
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a lease with a long segment, and a short one that a compaction merges with it."""
    path = tmp_path_factory.mktemp("memory") / "lease"
    count = SEGMENT_BYTES // len(PAYLOAD) // PER_BATCH * PER_BATCH
    large = path / f"{7:016x}" / f"{0:020}.log"
    large.parent.mkdir(parents=True)
    with SealedWriter(large) as writer:
        for first in range(0, count, PER_BATCH):
            # Every eighth message of a key goes.
            messages = [
                Message(offset, PAYLOAD, headers({"key": b"%d" % (offset % 8 and offset)}))
                for offset in range(first, first + PER_BATCH)
            ]
            content = batch(messages, partition=0, timestamp=BASE_TIME)
            writer.room(len(content))[:] = content
            writer.took(len(content))
        digest = writer.seal(Footer(7, 0, count - 1, count, 1, count, 0, BASE_TIME, BASE_TIME, 0, ()))
    content = large.read_bytes()
    cut = SegmentCut(
        path=f"{7:016x}/{0:020}.log",
        generation=0,
        bytes=writer.bytes,
        first_offset=0,
        last_offset=count - 1,
        messages=count,
        min_timestamp=BASE_TIME,
        max_timestamp=BASE_TIME,
        digest=digest,
    )
    write_lease(path, {0: [WrittenSegment(content, cut), sealed(count, 10), sealed(count + 10, 10)]})
    return path


@pytest.mark.parametrize("job", [READ, EXPORT, COMPACT], ids=["read", "export", "compact"])
@pytest.mark.timeout(600)
def test_a_task_holds_no_more_than_some_batches(
    directory: Path, tmp_path: Path, job: tuple[str, str]
) -> None:
    """Aim: memory of a task is bounded by its batch. Method: what a new process grows by, at its peak."""
    begin, run = job
    script = SCRIPT.replace("BEGIN", begin).replace("JOB", run)
    done = subprocess.run(
        [sys.executable, "-c", script, directory, tmp_path / "table"],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < BOUND, done.stdout
