"""The leases of a running server, put together from the metadata, the shards and the control socket."""

import grp
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from server_ng.bootstrap.control_plane import ControlPlane
from server_ng.bootstrap.data_directory import DataDirectory
from server_ng.config import Settings
from server_ng.config.model import NO_GROUP
from server_ng.engine.records import Adopted, Cut
from server_ng.leases import Leases, Limits
from server_ng.leases.access import NOBODY_ELSE, Access
from server_ng.leases.control_socket import BoundSocket, ControlSocket
from server_ng.leases.errors import Refusal
from server_ng.leases.requests import Request
from server_ng.leases.shards import ShardAdoptions, ShardCuts
from server_ng.observe.catalogue import sample
from server_ng.observe.metrics import Sample

__all__ = ["Leasing", "access_of"]


class Leasing:
    """From the listening socket to the shards."""

    def __init__(
        self,
        bound: BoundSocket,
        settings: Settings,
        directory: DataDirectory,
        control_plane: ControlPlane,
        send: Callable[[bytes], None],
    ) -> None:
        self._cuts = ShardCuts(send, control_plane.owner)
        self._adoptions = ShardAdoptions(send, control_plane.owner)
        self._leases = make_leases(settings, directory, control_plane, self._cuts, self._adoptions)
        self._socket = ControlSocket(bound, self._leases.serve)

    @property
    def address(self) -> str:
        """Where jobs find the socket."""
        return str(self._socket.path)

    async def start(self, spawn: Callable[[str, Coroutine[Any, Any, None]], None]) -> None:
        """Takes up the leases that there are, and lets jobs in."""
        await self._leases.load()
        spawn("leases", self._leases.expire())
        await self._socket.start()

    async def serve(self, request: Request) -> dict[str, Any]:
        """Does what a job asks; raises `LeaseRefusedError`."""
        return await self._leases.serve(request)

    def take(self, told: Cut | Adopted) -> None:
        """Takes what a shard says of a cut, or of an adoption."""
        match told:
            case Cut():
                self._cuts.take(told)
            case Adopted():
                self._adoptions.take(told)

    async def stop(self) -> None:
        """Lets nobody in any more; the leases stay."""
        self._cuts.close()
        self._adoptions.close()
        await self._socket.stop()

    def samples(self) -> Iterator[Sample]:
        """Figures of the leases."""
        leases = self._leases
        tally = leases.tally
        yield sample("leases", len(leases.ledger))
        yield sample("leases_bytes", leases.ledger.bytes)
        yield sample("leases_made_total", tally.made)
        yield sample("leases_expired_total", tally.expired)
        yield sample("compaction_adopted_total", tally.adopted)
        for kind in Refusal:
            yield sample("compaction_refused_total", tally.not_adopted[kind.value], reason=kind.value)


def access_of(group: str) -> Access:
    """For the members of a group of the system; raises `KeyError` if there is none of this name."""
    return NOBODY_ELSE if group == NO_GROUP else Access(grp.getgrnam(group).gr_gid)


def make_leases(
    settings: Settings,
    directory: DataDirectory,
    control_plane: ControlPlane,
    cuts: ShardCuts,
    adoptions: ShardAdoptions,
) -> Leases:
    """The leases of a data directory, as the settings have it."""
    wanted = settings.leases
    limits = Limits(
        ttl_max=wanted.ttl_max.total_seconds(),
        count_max=wanted.count_max,
        bytes_max=wanted.bytes_max,
        cut_timeout=wanted.cut_timeout.total_seconds(),
    )
    return Leases(
        root=directory.path.absolute() / "leases",
        limits=limits,
        cluster=directory.cluster,
        find=control_plane.find_topic,
        cuts=cuts,
        adoptions=adoptions,
        clock=lambda: time.time_ns() // 1_000,
        access=access_of(wanted.group),
    )
