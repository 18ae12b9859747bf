"""The unmodified `apache-iggy` client: connect, log in, ask, log out."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from apache_iggy import AutoLogin, IggyClient, TcpConfig, TcpReconnectionConfig

from tests.sdk.clients import connected, logged_in
from tests.support.fixtures import StartNode
from tests.support.node import Node
from tests.support.raw import PASSWORD, USERNAME

UNAVAILABLE = "Feature is unavailable"


async def sessions(node: Node) -> int:
    """Sessions that the server has open."""
    return int(node.counters().total("sessions_open"))


async def test_a_ping_needs_no_login(served: Node) -> None:
    client = await connected(served)
    await client.ping()


async def test_a_login_and_what_it_allows(served: Node) -> None:
    client = await logged_in(served)
    await client.ping()
    stats = await client.get_stats()
    assert stats.process_id == served.pid
    assert stats.clients_count >= 1
    assert stats.hostname


async def test_the_options_of_a_topic_are_described(served: Node) -> None:
    client = await logged_in(served)
    topic = await client.describe_options("topic")
    assert {option.key for option in topic} == {
        "compression_algorithm",
        "consumer_offset_durability",
        "durability",
        "max_topic_size",
        "message_expiry",
        "messages_required_to_save",
        "preallocate_segments",
        "segment_size",
        "size_of_messages_required_to_save",
    }
    assert await client.describe_options("stream") == []
    assert await client.describe_options("user") == []


async def test_a_wrong_password_is_invalid_credentials(served: Node) -> None:
    client = await connected(served)
    with pytest.raises(RuntimeError, match="Invalid credentials"):
        await client.login_user(USERNAME, "not-the-secret")
    await client.ping()
    await client.login_user(USERNAME, PASSWORD)
    await client.get_stats()


async def test_an_unknown_user_is_invalid_credentials(served: Node) -> None:
    client = await connected(served)
    with pytest.raises(RuntimeError, match="Invalid credentials"):
        await client.login_user("somebody", PASSWORD)


async def test_without_a_login_a_read_is_refused(served: Node) -> None:
    client = await connected(served)
    with pytest.raises(RuntimeError, match="Unauthenticated"):
        await client.get_stats()


async def test_a_second_login_takes_the_place_of_the_first(served: Node) -> None:
    client = await logged_in(served)
    before = await sessions(served)
    await client.login_user(USERNAME, PASSWORD)
    await client.get_stats()
    assert await sessions(served) == before


async def test_after_a_logout_one_may_log_in_again(served: Node) -> None:
    client = await logged_in(served)
    await client.logout_user()
    with pytest.raises(RuntimeError, match="Unauthenticated"):
        await client.get_stats()
    await client.ping()
    await client.login_user(USERNAME, PASSWORD)
    await client.get_stats()


async def test_a_connection_string_logs_in_by_itself(served: Node) -> None:
    client = IggyClient.from_connection_string(f"iggy://{USERNAME}:{PASSWORD}@{served.tcp}")
    await client.connect()
    assert (await client.get_stats()).process_id == served.pid
    await client.ping()


async def test_a_wrong_password_in_a_connection_string_is_told(served: Node) -> None:
    client = IggyClient.from_connection_string(f"iggy://{USERNAME}:not-the-secret@{served.tcp}")
    with pytest.raises(RuntimeError, match="Invalid credentials"):
        await client.connect()


_LATER: dict[str, Callable[[IggyClient], Awaitable[object]]] = {
    "create a group": lambda client: client.create_consumer_group("orders", "all", "readers"),
    "take a snapshot": lambda client: client.send_binary_request(11, bytes([1, 1, 100])),
}


@pytest.mark.parametrize("command", _LATER)
async def test_commands_of_later_versions_say_so(served: Node, command: str) -> None:
    client = await logged_in(served)
    with pytest.raises(RuntimeError, match=UNAVAILABLE):
        await _LATER[command](client)
    await client.get_stats()


async def test_a_client_finds_its_way_back_after_kill_9(start_node: StartNode) -> None:
    node = start_node(settings={"tcp.address": "127.0.0.1:0"})
    settings = TcpConfig(
        server_address=node.tcp,
        auto_login=AutoLogin.username_password(USERNAME, PASSWORD),
        reconnection=TcpReconnectionConfig(
            interval=timedelta(milliseconds=50), reestablish_after=timedelta(milliseconds=50)
        ),
    )
    client = IggyClient(settings)
    await client.connect()
    first = (await client.get_stats()).process_id
    node.kill()
    node.restart({"tcp.address": node.tcp})
    assert (await client.get_stats()).process_id != first
