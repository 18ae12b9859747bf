"""Limits: what a client may cost, and that the next one is served."""

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.support.fixtures import LONG, StartNode
from tests.support.frames import COMMAND, Eviction, Reply, Request
from tests.support.node import Node
from tests.support.raw import RawClient
from tests.support.waiting import WAIT_MAX, until

KIB, MIB = 1024, 1024 * 1024
PING, STATS = 1, 10
TRANSIENT_NOT_ACCEPTED, INVALID_CREDENTIALS = 58, 9
CONNECTIONS_OPENED = 100_000 if LONG else 5_000
WRONG_PASSWORDS = 1_000 if LONG else 100
CROWD = 4_000


@contextmanager
def many(node: Node, count: int) -> Iterator[list[RawClient]]:
    """So many connections at once."""
    with ExitStack() as stack:
        yield [stack.enter_context(node.connect()) for _ in range(count)]


class TestTime:
    """A frame that has begun has to end; nobody is cut for being quiet."""

    def test_half_a_frame_and_silence_is_cut(self, start_node: StartNode, backend: str) -> None:
        node = start_node(settings={"connections.frame_timeout": "100ms", "system.io.backend": backend})
        with node.connect() as quiet, node.connect_registered() as member, node.connect() as halting:
            halting.send(Request(COMMAND, PING).encode()[:100])
            assert halting.rest() == b""
            node.wait_for_count(1, "connection_closes_total", reason="frame_timeout")
            member.ping()
            quiet.ping()

    def test_a_trickle_is_cut(self, start_node: StartNode, backend: str) -> None:
        node = start_node(settings={"connections.frame_timeout": "100ms", "system.io.backend": backend})
        with node.connect() as trickling, node.connect_registered() as member:
            for byte in Request(COMMAND, PING).encode():
                trickling.send(bytes([byte]))
                if trickling.hears_within(0.1):
                    break
            assert trickling.rest() == b""
            node.wait_for_count(1, "connection_closes_total", reason="frame_timeout")
            member.ping()

    def test_who_does_not_take_answers_is_cut(self, start_node: StartNode, backend: str) -> None:
        node = start_node(settings={"connections.send_timeout": "2s", "system.io.backend": backend})
        with stalled(node):
            node.wait_for_count(1, "connection_closes_total", reason="send_timeout")


def test_a_session_that_does_not_read_delays_no_stop(start_node: StartNode, backend: str) -> None:
    node = start_node(settings={"system.io.backend": backend})
    with stalled(node):
        assert node.terminate() == 0
    assert node.log("answers_cut") == []


@contextmanager
def stalled(node: Node) -> Iterator[tuple[RawClient, int]]:
    """A client that has sent pings until nobody takes more, and read no answer; with the bytes it sent."""
    with node.connect(receive_buffer=4 * KIB) as client:
        client.register()
        pings = client.prepare(PING).encode() * 64
        sent = 0
        # The buffers on the way fill in steps: only when nothing goes for a while are all of them full.
        while client.can_send_within(0.5):
            sent += client.try_send(pings[sent % 256 :])
        yield client, sent


def test_a_reader_that_stalls_costs_little(start_node: StartNode, backend: str) -> None:
    node = start_node(settings={"system.io.backend": backend})
    with node.connect_registered() as other:
        other.ping()
        before = node.rss()
        with stalled(node) as (client, sent):
            assert node.rss() - before < 2 * MIB
            other.ping()
            # The last of them may be cut in the middle: the server waits for its rest.
            for _ in range(sent // 256):
                assert isinstance(client.read(), Reply)
        other.ping()


def test_the_oldest_stranger_makes_room(start_node: StartNode, backend: str) -> None:
    node = start_node(settings={"connections.unauthenticated_max": "8", "system.io.backend": backend})
    with node.connect_registered() as member, many(node, 20) as strangers:
        node.wait_for_count(12, "connection_closes_total", reason="displaced")
        for displaced in strangers[:12]:
            assert displaced.rest() == b""
        for stranger in strangers[12:]:
            stranger.ping()
        member.ping()


def test_past_the_last_place_a_connection_is_closed(start_node: StartNode) -> None:
    node = start_node(settings={"connections.max": "16", "connections.unauthenticated_max": "8"})
    with ExitStack() as stack:
        members = [stack.enter_context(node.connect_registered()) for _ in range(16)]
        with node.connect() as late:
            assert late.rest() == b""
        node.wait_for_count(1, "connection_closes_total", reason="table_full")
        members.pop().close()
        node.wait_for_count(15, "connections_open")
        with node.connect_registered() as next_one:
            next_one.ping()
        members[0].ping()


def test_past_the_last_session_a_login_is_told_to_come_again(start_node: StartNode) -> None:
    node = start_node(settings={"metadata.clients_table_max": "2"})
    with node.connect_registered() as first, node.connect_registered(), node.connect() as third:
        refused = third.login()
        assert isinstance(refused, Reply)
        assert (refused.status, refused.rejection) == (0, TRANSIENT_NOT_ACCEPTED)
        first.logout()
        third.register()
        assert node.counters().total("logins_total", outcome="busy") == 1


def test_a_full_login_queue_answers_at_once(start_node: StartNode) -> None:
    node = start_node(settings={"auth.login_queue_max": "1"})
    with node.connect_registered(), many(node, 20) as clients:
        for number, client in enumerate(clients):
            client.send_login(password=f"wrong-{number}")
        answers = [client.read() for client in clients]
        busy = [answer for answer in answers if isinstance(answer, Reply)]
        refused = [answer for answer in answers if isinstance(answer, Eviction)]
        assert {answer.rejection for answer in busy} == {TRANSIENT_NOT_ACCEPTED}
        assert {answer.reason for answer in refused} == {INVALID_CREDENTIALS}
        clients[0].register()


@contextmanager
def without_descriptors(node: Node) -> Iterator[None]:
    """For a while the server gets no descriptor beyond those it has."""
    soft, hard = resource.prlimit(node.pid, resource.RLIMIT_NOFILE)
    # Lower than every free number; what is open stays open.
    resource.prlimit(node.pid, resource.RLIMIT_NOFILE, (3, hard))
    yield
    resource.prlimit(node.pid, resource.RLIMIT_NOFILE, (soft, hard))


def test_without_descriptors_accepting_pauses(start_node: StartNode, backend: str) -> None:
    node = start_node(settings={"system.io.backend": backend})
    with node.connect_registered() as member, ExitStack() as stack:
        with without_descriptors(node):
            crowd = stack.enter_context(many(node, 12))
            node.wait_for_log("accept_paused")
            member.ping()
        # What could not be accepted has waited.
        for client in crowd:
            client.ping()
        assert node.counters().total("accept_pauses_total") > 0
        node.wait_for_log("accept_resumed")
        member.ping()
    assert node.terminate() == 0


def test_a_scrape_without_descriptors_waits_and_harms_nobody(start_node: StartNode) -> None:
    node = start_node()
    with node.connect_registered() as member:
        with without_descriptors(node):
            scrape = socket.create_connection(node.observe_address, WAIT_MAX)
            scrape.sendall(b"GET /ready HTTP/1.0\r\n\r\n")
            member.ping()
        with scrape:
            assert scrape.recv(12) == b"HTTP/1.1 200"
        member.ping()
    assert node.terminate() == 0


@pytest.mark.timeout(3600 if LONG else 60)
def test_connections_opened_and_closed_leave_nothing(start_node: StartNode, backend: str) -> None:
    node = start_node(settings={"system.io.backend": backend})
    wave = 250
    with node.connect_registered() as member:
        # The first wave warms what is kept: slots, spare buffers.
        open_and_leave(node, wave)
        descriptors, memory = node.descriptors(), node.rss()
        for _ in range(CONNECTIONS_OPENED // wave):
            open_and_leave(node, wave)
        accepted = node.counters().total("connections_accepted_total")
        # Those that were reset in the backlog were never accepted.
        assert accepted > CONNECTIONS_OPENED / 2
        until(lambda: node.descriptors() <= descriptors, "every descriptor is given back")
        assert node.rss() - memory < 8 * MIB
        member.ping()


def open_and_leave(node: Node, count: int) -> None:
    """Opens connections and ends them in the ways that clients have."""
    with many(node, count) as clients:
        for at, client in enumerate(clients):
            leave(client, at)
    node.wait_for_count(1, "connections_open")


def leave(client: RawClient, at: int) -> None:
    """Leaves in one of the ways that clients have."""
    match at % 5:
        case 0:
            client.close()
        case 1:
            client.ping()
        case 2:
            client.reset()
        case 3:
            client.send(Request(COMMAND, PING).encode()[:99])
        case _:
            client.send(b"GET / HTTP/1.1\r\n\r\n")


@pytest.mark.timeout(600 if LONG else 60)
def test_a_storm_of_wrong_passwords_harms_nobody(start_node: StartNode) -> None:
    node = start_node()
    with node.connect_registered() as member, many(node, 50) as clients:
        for number in range(WRONG_PASSWORDS // len(clients)):
            for at, client in enumerate(clients):
                client.send_login(password=f"wrong-{number}-{at}")
            member.ping()
            for client in clients:
                answer = client.read()
                assert isinstance(answer, Eviction)
                assert answer.reason == INVALID_CREDENTIALS
        counters = node.counters()
        assert counters.total("logins_total", outcome="refused") == WRONG_PASSWORDS
        assert counters.total("login_refusals_total", reason="credentials") >= 10
        assert counters.total("login_refusals_total") == WRONG_PASSWORDS
        for client in clients:
            client.register()
        assert node.rss() <= 64 * MIB


def test_passwords_cannot_be_guessed(start_node: StartNode) -> None:
    node = start_node()
    with many(node, 40) as clients:
        for number, client in enumerate(clients):
            client.send_login(password=f"guess-{number}")
        for client in clients:
            answer = client.read()
            assert isinstance(answer, Eviction)
            assert answer.reason == INVALID_CREDENTIALS
        assert node.counters().total("login_refusals_total", reason="throttled") > 0
        # Of another address, the right password is looked at.
        with node.connect(source="127.0.0.2") as elsewhere:
            elsewhere.register()
        # And once it was, it passes from this one.
        for client in clients:
            client.register()


def test_a_daemon_at_rest_is_small(start_node: StartNode) -> None:
    node = start_node()
    node.counters()
    assert node.rss() <= 64 * MIB
    with ExitStack() as stack:
        clients = [stack.enter_context(node.connect()) for _ in range(100)]
        for client in clients:
            client.register()
        assert node.counters().total("sessions_open") == 100
        assert node.rss() <= 64 * MIB


def test_a_table_far_too_small_for_the_crowd_harms_nobody(start_node: StartNode, backend: str) -> None:
    """Connections that arrive, and end, faster than a shard with few places takes them over."""
    tight = {
        "connections.max": "16",
        "connections.unauthenticated_max": "8",
        "system.sharding.cpu_allocation": "2",
        "system.sharding.pin_cores": "false",
        "system.io.backend": backend,
    }
    node = start_node(settings=tight)
    for _ in range(CROWD):
        socket.create_connection(node.address, WAIT_MAX).close()
    # None is open, either, while all wait to be accepted, and those would displace the member.
    node.wait_for_count(CROWD, "connections_accepted_total")
    node.wait_for_count(0, "connections_open")
    with node.connect_registered() as member:
        member.ping()
    assert node.terminate() == 0
