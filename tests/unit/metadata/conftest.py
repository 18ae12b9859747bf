"""A log with a little in it."""

import pytest

from server_ng.wire.requests import CreateStream, CreateTopic
from tests.support.metadata_log import MetadataLog


@pytest.fixture
def log() -> MetadataLog:
    """A log that made stream `s` with topic `t` of two partitions."""
    log = MetadataLog()
    log.do(CreateStream("s"))
    log.do(CreateTopic("s", 2, "t"))
    return log
