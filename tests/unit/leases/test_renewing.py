"""Leases that are renewed while something is in the way."""

import asyncio
from pathlib import Path

import pytest

from server_ng.leases.errors import LeaseRefusedError, Refusal
from server_ng.leases.requests import Release, Renew
from server_ng.leases.service import Leases
from tests.support.lease_files import BASE_TIME
from tests.unit.leases.node_leases import Clock, leases_of, write_lease_until

EXPIRES = BASE_TIME + 60_000_000
RENEW = Renew("one", 600)


async def loaded(root: Path) -> Leases:
    """The leases of a node that left one behind."""
    write_lease_until(root, "one", EXPIRES)
    leases = leases_of(root, Clock(BASE_TIME))
    await leases.load()
    return leases


async def test_what_cannot_be_written_is_refused_and_the_lease_ends_as_it_was_to(tmp_path: Path) -> None:
    leases = await loaded(tmp_path)
    expires = tmp_path / "one" / "expires"
    expires.unlink()
    (expires / "in the way").mkdir(parents=True)
    with pytest.raises(LeaseRefusedError) as refused:
        await leases.serve(RENEW)
    assert refused.value.kind is Refusal.FAILED
    assert leases.ledger.get("one").expires == EXPIRES
    assert sorted(path.name for path in (tmp_path / "one").glob("expires*")) == ["expires"]


async def test_two_that_renew_at_once_both_do(tmp_path: Path) -> None:
    leases = await loaded(tmp_path)
    answers = await asyncio.gather(*(leases.serve(RENEW) for _ in range(20)))
    assert {answer["expires"] for answer in answers} == {BASE_TIME + 600_000_000}
    assert (tmp_path / "one" / "expires").read_text() == f"{BASE_TIME + 600_000_000}\n"


async def test_a_lease_that_ends_meanwhile_is_unknown(tmp_path: Path) -> None:
    leases = await loaded(tmp_path)
    outcomes: list[object] = await asyncio.gather(
        leases.serve(RENEW), leases.serve(Release("one")), return_exceptions=True
    )
    renewed, released = outcomes
    assert released == {"lease": "one"}
    assert isinstance(renewed, LeaseRefusedError)
    assert renewed.kind is Refusal.UNKNOWN_LEASE
    assert len(leases.ledger) == 0
