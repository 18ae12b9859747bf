"""Jobs that ask at the same time, or again before they were answered."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from server_ng.leases.adoption import Adoption
from server_ng.leases.errors import LeaseRefusedError, Refusal
from server_ng.leases.requests import AdoptSegments, CutTopic, InputName, OutputFile, Release
from server_ng.leases.service import Leases, Place, Topic
from server_ng.leases.shards import Contents
from server_ng.wire.cuts import CutSegment
from tests.support.lease_files import BASE_TIME
from tests.unit.leases.node_leases import Clock, leases_of, write_lease_until

CUT = CutTopic("orders", "events", None, 60)


class Shards:
    """Shards of one segment of 700 bytes for each cut; adoptions end when the test says so."""

    def __init__(self, *, idle: bool = False) -> None:
        self.idle = idle
        self.cuts_made = 0
        self.adoptions_begun = 0
        self.may_adopt: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def cut(self, _group: int, _directory: Path) -> Contents:
        """Another segment for each, unless nobody writes."""
        self.cuts_made += 1
        first = 10 if self.idle else 10 * self.cuts_made
        segment = CutSegment(
            first_offset=first,
            last_offset=first,
            min_timestamp=1,
            max_timestamp=1,
            bytes=700,
            footer=0,
            messages=1,
            generation=0,
        )
        return Contents(0, first, (segment,))

    async def adopt(self, _group: int, _swap: bytes, _directory: Path) -> None:
        """As slow as the test is."""
        self.adoptions_begun += 1
        await asyncio.shield(self.may_adopt)


def topic(_stream: str | int, _topic: str | int) -> Topic:
    return Topic("orders", "events", [Place(0, 7)])


def directories(folder: Path) -> int:
    """How many there are."""
    return len(list(folder.iterdir()))


async def test_cuts_at_once_keep_within_the_budget(tmp_path: Path) -> None:
    leases = leases_of(tmp_path, Clock(BASE_TIME), find=topic, cuts=Shards(), bytes_max=1500)
    outcomes = await asyncio.gather(*(leases.serve(CUT) for _ in range(4)), return_exceptions=True)
    refused = [outcome for outcome in outcomes if isinstance(outcome, LeaseRefusedError)]
    assert [error.kind for error in refused] == [Refusal.BUDGET] * 2
    assert leases.ledger.bytes == 1400
    assert len(leases.ledger) == 2


async def test_those_who_share_get_one_lease_of_what_does_not_change(tmp_path: Path) -> None:
    clock = Clock(BASE_TIME)
    shards = Shards(idle=True)
    leases = leases_of(tmp_path, clock, find=topic, cuts=shards)
    alone = await leases.serve(CUT)
    shared = replace(CUT, shared=True)
    first = await leases.serve(shared)
    assert first["lease"] != alone["lease"]
    clock.now += 1_000_000
    again = await leases.serve(shared)
    assert (again["lease"], again["expires"]) == (first["lease"], first["expires"] + 1_000_000)
    assert (await leases.serve(replace(shared, ttl=1)))["expires"] == again["expires"]
    assert len(leases.ledger) == directories(tmp_path) == 2
    shards.idle = False
    assert (await leases.serve(shared))["lease"] != first["lease"]


async def adopting(root: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Leases, Shards, AdoptSegments]:
    """A lease, and a job that has made something of its one segment; nobody looks at that here."""

    async def verify(_lease: Path, _adoption: Adoption) -> None:
        await asyncio.sleep(0)

    monkeypatch.setattr("server_ng.leases.service.verification.verify", verify)
    write_lease_until(root, "one", BASE_TIME + 60_000_000)
    shards = Shards()
    leases = leases_of(root, Clock(BASE_TIME), adoptions=shards, cut_timeout=0.01)
    await leases.load()
    made = OutputFile("outputs/0/00000000000000000000.1.log", 1, 1, 0, 0, 1, 1, 1, "0" * 32)
    return leases, shards, AdoptSegments("one", 0, (InputName(0, 0),), (made,))


async def refusal(leases: Leases, request: AdoptSegments) -> Refusal:
    with pytest.raises(LeaseRefusedError) as refused:
        await leases.serve(request)
    return refused.value.kind


async def test_a_job_that_asks_again_is_not_fenced_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leases, shards, request = await adopting(tmp_path, monkeypatch)
    assert await refusal(leases, request) is Refusal.BUSY
    assert await refusal(leases, request) is Refusal.BUSY
    shards.may_adopt.set_result(None)
    for _ in range(2):
        assert await leases.serve(request) == {"partition": 0, "generation": 1}
    assert shards.adoptions_begun == 1
    assert leases.tally.adopted == 1
    await leases.serve(Release("one"))
    assert await refusal(leases, request) is Refusal.UNKNOWN_LEASE


async def test_what_was_refused_may_be_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leases, shards, request = await adopting(tmp_path, monkeypatch)
    shards.may_adopt.set_exception(LeaseRefusedError(Refusal.FAILED, "planted"))
    assert await refusal(leases, request) is Refusal.FAILED
    assert await refusal(leases, request) is Refusal.FAILED
    assert shards.adoptions_begun == 2
