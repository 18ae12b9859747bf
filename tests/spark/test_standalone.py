"""A cluster with a master and two workers, as `configs/spark` sets one up."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.standalone_cluster import StandaloneCluster
from tests.spark.topics import sealed
from tests.support.lease_files import write_lease

pytestmark = pytest.mark.timeout(600)


def test_workers_read_a_topic_and_compact_it(root: Path, tmp_path: Path) -> None:
    lease = tmp_path / "lease"
    partitions = {
        number: [sealed(at, 50, partition=number, group=number) for at in (0, 50)] for number in (0, 1)
    }
    write_lease(lease, partitions, groups={0: 0, 1: 1})
    query = "select partition, count(*) messages, count(distinct key) keys from topic group by 1 order by 1"
    with StandaloneCluster(tmp_path, root / "configs" / "spark", workers=2) as cluster:

        def job(*words: str) -> list[dict[str, object]]:
            command = [sys.executable, "-m", "server_ng", "spark", *words, "--lease", str(lease), "--json"]
            done = subprocess.run(
                [*command, "--master", cluster.master],
                env=cluster.environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            return [json.loads(line) for line in done.stdout.splitlines()]

        assert job("sql", query) == [{"partition": number, "messages": 100, "keys": 3} for number in (0, 1)]
        planned = job("compact", "--dry-run")[-1]
        # Of 100 messages every fourth has no key, and of the others the newest of three keys stays.
        assert (planned["messages"], planned["messages_after"]) == (200, 2 * (25 + 3))
        executors = {path.parent.parent.parent.name for path in tmp_path.glob("worker-*/app-*/*/stderr")}
        assert executors == {"worker-0", "worker-1"}
