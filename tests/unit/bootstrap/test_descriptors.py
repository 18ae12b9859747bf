"""Connections within the limit of descriptors."""

import pytest

from server_ng.bootstrap.descriptors import connections_within
from server_ng.bootstrap.errors import StartError


@pytest.mark.parametrize(
    ("limit", "allowed"),
    [("1024/unlimited", 20_480), ("1024/524288", 20_480), ("1024/20000", 19_712), ("1024/1024", 736)],
)
def test_what_is_needed_besides_is_kept(limit: str, allowed: int) -> None:
    assert connections_within(limit, 20_480, 2, 8) == allowed


def test_a_limit_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(StartError, match="may open 64 files, and needs 192"):
        connections_within("64/64", 20_480, 1, 8)
