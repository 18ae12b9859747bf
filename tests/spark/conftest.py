"""One Spark session for all tests, since starting one takes as long as all of them together; and leases."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from server_ng.spark.cutter import HeldLease
from server_ng.spark.session import builder
from tests.support.fixtures import make_node, start_node
from tests.support.lease_files import WrittenSegment, write_lease

__all__ = ["leased", "make_node", "spark", "start_node"]

_SESSION_SECONDS = 300


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whichever test comes first waits for the Java machine too."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(_SESSION_SECONDS))
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A small local session, in which a task has a second try."""
    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    made = builder("tests", "local[2, 2]")
    for name, value in settings.items():
        made = made.config(name, value)
    session = made.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def leased(tmp_path: Path) -> Callable[..., HeldLease]:
    """Makes the leases of a topic that grows."""
    made = 0

    def make(partitions: dict[int, list[WrittenSegment]], **how: Any) -> HeldLease:
        nonlocal made
        made += 1
        path = tmp_path / f"lease-{made}"
        groups = {number: 7 + number for number in partitions}
        return HeldLease(path, write_lease(path, partitions, **{"groups": groups, **how}))

    return make
