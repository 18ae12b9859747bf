"""The flags of Iggy's server on the command line of this one."""

from pathlib import Path

from tests.support.batches import name8
from tests.support.fixtures import StartNode
from tests.support.node import Node
from tests.support.topic_client import TopicClient

CREATE_STREAM, EXISTS = 202, 1012


def with_flags(*flags: str) -> list[str | Path]:
    """A command that adds these to the one that follows it."""
    return ["sh", "-c", f'exec "$@" {" ".join(flags)}', "sh"]


def create(node: Node, name: str) -> int:
    """The status of a new stream."""
    with TopicClient(node.connect_registered()) as client:
        return client.ask(CREATE_STREAM, name8(name)).rejection


def test_fresh_begins_anew_as_often_as_it_is_given(make_node: StartNode) -> None:
    node = make_node().start()
    assert create(node, "s") == 0
    node.kill()
    node.restart(under=with_flags("--fresh", "--replica-id", "0"))
    assert create(node, "s") == 0
    assert node.log("deleting_data")
    assert node.terminate() == 0
    node.restart(under=())
    assert create(node, "s") == EXISTS
    assert node.terminate() == 0
    node.restart(under=with_flags("-f"))
    assert create(node, "s") == 0


def test_fresh_leaves_a_directory_in_use_alone(start_node: StartNode, make_node: StartNode) -> None:
    owner = start_node()
    assert create(owner, "s") == 0
    second = make_node(settings={"system.path": str(owner.data)}, under=with_flags("--fresh"))
    assert second.launch().wait() == 78
    assert f"process {owner.pid}" in second.stderr()
    owner.kill()
    owner.restart()
    assert create(owner, "s") == EXISTS


def test_fresh_leaves_a_directory_of_others_alone(make_node: StartNode) -> None:
    node = make_node(under=with_flags("--fresh"))
    node.data.mkdir()
    (node.data / "LAYOUT").write_text("of another program")
    assert node.launch().wait() == 78
    assert "is not a file of this server" in node.stderr()
    assert (node.data / "LAYOUT").read_text() == "of another program"


def test_the_well_known_root_user_logs_in(make_node: StartNode) -> None:
    node = make_node(environment={}, under=with_flags("--with-default-root-credentials")).start()
    with node.connect() as client:
        client.register("iggy", "iggy")
    assert not (node.runtime / "root-password").exists()
    assert node.terminate() == 0
