"""The log of a start names what was started, and level debug shows clients, streams and topics."""

from pathlib import Path

from tests.support.fixtures import StartNode
from tests.support.node import Node
from tests.support.raw import USERNAME
from tests.support.topic_client import Place, TopicClient
from tests.support.waiting import until

_PLACE = Place("orders", "events")
_FOR_DEBUGGING = (
    "client_logged_in",
    "client_disconnected",
    "stream_created",
    "topic_created",
    "topic_deleted",
    "stream_deleted",
)


def test_a_start_logs_version_places_and_addresses(make_node: StartNode, tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text("[poll]\n")
    node = make_node(environment={"IGGY_CONFIG_PATH": str(file)}).start()
    (starting,) = node.log("starting")
    assert starting["data_directory"] == str(node.data)
    assert starting["configuration"] == str(file)
    assert starting["version"].count(".") == 2
    ready = node.wait_for_log("server_ready")
    assert {key: ready[key] for key in ("tcp", "observe", "control")} == {
        key: node.endpoints[key] for key in ("tcp", "observe", "control")
    }
    node.terminate()
    node.restart()
    assert node.log("starting")[0]["configuration"] == str(file)


def test_a_start_without_a_file_says_so(start_node: StartNode) -> None:
    assert start_node().log("starting")[0]["configuration"] is None


def come_and_go(node: Node) -> str:
    """One client logs in, makes a stream and a topic, deletes both and leaves; its address."""
    raw = node.connect_registered()
    with TopicClient(raw) as client:
        client.create_stream(_PLACE.stream)
        client.create_topic(_PLACE, 1, 1 << 20)
        # Refused, because there is one of this name.
        client.ask(202, b"\6orders")
        client.delete_topic(_PLACE)
        client.ask(203, b"\2\6orders")
        return raw.local_address


def names(node: Node, event: str) -> list[dict[str, str]]:
    """The stream and the topic of each line of this event."""
    return [{key: line[key] for key in ("stream", "topic") if key in line} for line in node.log(event)]


def test_debug_shows_clients_streams_and_topics(make_node: StartNode) -> None:
    node = make_node(settings={"system.logging.level": "debug"}).start()
    address = come_and_go(node)
    until(lambda: bool(node.log("stream_deleted")), "the deletion of the stream")
    (login,) = node.log("client_logged_in")
    assert (login["username"], login["address"]) == (USERNAME, address)
    # Its port is that of the login; the client closed the connection.
    gone = node.wait_for_log("client_disconnected")
    assert (gone["port"], gone["reason"]) == (int(address.rpartition(":")[2]), "client_closed")
    with node.connect() as stranger:
        stranger.ping()
    node.connect_registered().reset()
    until(lambda: len(node.log("client_disconnected")) == 2, "the end of the second client")
    for event in ("stream_created", "stream_deleted"):
        assert names(node, event) == [{"stream": "orders"}]
    for event in ("topic_created", "topic_deleted"):
        assert names(node, event) == [{"stream": "orders", "topic": "events"}]


def test_info_does_not_show_them(make_node: StartNode) -> None:
    node = make_node().start()
    come_and_go(node)
    assert node.terminate() == 0
    assert [event for event in _FOR_DEBUGGING if node.log(event)] == []
