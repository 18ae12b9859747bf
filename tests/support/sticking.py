"""A shard that stands still: brought about by a fault, and seen by a client of the shard."""

import signal

from tests.support.node import Node
from tests.support.raw import RawClient
from tests.support.waiting import until

__all__ = ["FOREVER_MILLIS", "sharded", "stick"]

FOREVER_MILLIS = 600_000

_PING = 1


def sharded(shards: int) -> dict[str, str]:
    """Settings of a faulty server with so many shards, however few CPUs there are."""
    return {"system__sharding__cpu_allocation": str(shards), "system__sharding__pin_cores": "false"}


def stick(node: Node, client: RawClient, code: int = _PING) -> None:
    """Makes the shard stand still that answers the client, which waits for an answer from then on."""
    client.send(client.prepare(code).encode())
    node.signal(signal.SIGUSR1)
    until(lambda: _is_stuck(client, code), "the shard stands still")


def _is_stuck(client: RawClient, code: int) -> bool:
    """Whether the server has stopped to answer this client."""
    if client.hears_within(0):
        client.read()
        client.send(client.prepare(code).encode())
    return not client.hears_within(1)
