"""Several shards: connections are spread, and what concerns all of them crosses to the first."""

import random
import struct
from contextlib import ExitStack

import pytest

from tests.support.fixtures import StartNode
from tests.support.frames import Reply, Request
from tests.support.node import Node
from tests.support.raw import RawClient

PING, STATS, ME, CLIENT, CLIENTS, LOGOUT = 1, 10, 20, 21, 22, 3
CLIENTS_AT_ONCE = 200
ROUNDS = 5


def start(start_node: StartNode, shards: int, backend: str) -> Node:
    """A server with so many shards, however few CPUs there are."""
    settings = {
        "system.sharding.cpu_allocation": str(shards),
        "system.sharding.pin_cores": "false",
        "system.io.backend": backend,
    }
    return start_node(settings=settings)


def answers(clients: list[RawClient]) -> list[Reply]:
    """The next answer of every client, all of them good."""
    replies = [client.read() for client in clients]
    good = [reply for reply in replies if isinstance(reply, Reply) and reply.status == 0]
    assert len(good) == len(clients), [reply for reply in replies if reply not in good]
    return good


@pytest.mark.parametrize("shards", [2, 4])
def test_two_hundred_clients_at_once(start_node: StartNode, backend: str, shards: int) -> None:
    node = start(start_node, shards, backend)
    with ExitStack() as stack:
        clients = [stack.enter_context(node.connect()) for _ in range(CLIENTS_AT_ONCE)]
        for _ in range(ROUNDS):
            for client in clients:
                client.send_login()
            for client in clients:
                assert isinstance(client.read_login(), Reply)
            assert len({client.session for client in clients}) == CLIENTS_AT_ONCE
            for code in (CLIENTS, STATS, PING, ME):
                for client in clients:
                    client.send(client.prepare(code).encode())
                sizes = {len(reply.body) for reply in answers(clients)}
                # Every list is whole: none shows one connection less than another.
                assert code != CLIENTS or min(sizes) > CLIENTS_AT_ONCE * 20
            for client in clients:
                logout = Request(LOGOUT, client=client.client, session=client.session, request=1)
                client.send(logout.encode())
            answers(clients)
            for client in clients:
                client.session = 0
        counters = node.counters()
    assert counters.nonzero("frame_drops_total") == {}
    assert counters.shards() == {str(shard) for shard in range(shards)}
    assert counters.total("logins_total", outcome="ok") == CLIENTS_AT_ONCE * ROUNDS
    for shard in range(shards):
        assert counters.total("requests_total", shard=str(shard)) > 0
    assert counters.total("mailbox_entries_total") > 0
    assert node.terminate() == 0


def test_answers_keep_their_order_across_shards(start_node: StartNode, backend: str) -> None:
    node = start(start_node, 4, backend)
    dice = random.Random(4)
    with ExitStack() as stack:
        clients = [stack.enter_context(node.connect_registered()) for _ in range(16)]
        asked = {client: [dice.choice((PING, STATS, ME, CLIENTS)) for _ in range(100)] for client in clients}
        for client, codes in asked.items():
            requests = (client.prepare(code) for code in codes)
            frames = (
                Request(request.operation, request.code, client=request.client, request=number)
                for number, request in enumerate(requests, start=1)
            )
            client.send(b"".join(frame.encode() for frame in frames))
        for client, codes in asked.items():
            replies = [client.read() for _ in codes]
            assert [reply.request for reply in replies if isinstance(reply, Reply)] == [*range(1, 101)]
    assert node.counters().nonzero("frame_drops_total") == {}


def test_a_client_of_another_shard_is_found(start_node: StartNode, backend: str) -> None:
    node = start(start_node, 4, backend)
    with ExitStack() as stack:
        clients = [stack.enter_context(node.connect_registered()) for _ in range(8)]
        for client in clients:
            me = client.command(ME).body
            for other in clients:
                assert other.command(CLIENT, me[:4]).body == me
        gone = clients.pop()
        (number,) = struct.unpack_from("<I", gone.command(ME).body)
        gone.close()
        node.wait_for_count(7, "connections_open")
        assert clients[0].command(CLIENT, struct.pack("<I", number)).body == b""


def test_clients_that_leave_during_their_login_leave_no_session(start_node: StartNode, backend: str) -> None:
    node = start(start_node, 4, backend)
    with node.connect_registered():
        # Credentials that were verified pass, however many others fail.
        pass
    for number in range(40):
        with node.connect() as client:
            # A password of its own costs a hash, which takes longer than the client stays.
            client.send_login(password=f"wrong-{number}")
    node.wait_for_count(0, "connections_open")
    with node.connect_registered() as client:
        client.ping()
        assert node.counters().total("sessions_open") == 1
    node.wait_for_count(0, "sessions_open")
    assert node.terminate() == 0


def test_pinned_shards_run_on_the_processors_they_are_told(start_node: StartNode) -> None:
    node = start_node(settings={"system.sharding.cpu_allocation": "1"})
    (cpu,) = node.log("opened")[0]["shard_cpus"]
    assert node.affinity("shard-0") == {cpu}
