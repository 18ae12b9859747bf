"""Flags, files and variables of Iggy's server, given to this one."""

from pathlib import Path

import pytest

from tests.support.batches import name8
from tests.support.fixtures import StartNode
from tests.support.node import ROOT_CREDENTIAL, Node
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


@pytest.mark.parametrize("shape", ["iggy_defaults", "iggy_released_defaults"])
def test_a_file_of_each_shape_starts_the_server(make_node: StartNode, root: Path, shape: str) -> None:
    file = root / "tests" / "unit" / "config" / f"{shape}.toml"
    node = make_node(environment={**ROOT_CREDENTIAL, "IGGY_CONFIG_PATH": str(file)}).start()
    assert [line["event"] for line in node.log("inert_keys")] == ["inert_keys"]
    assert create(node, "s") == 0
    assert node.terminate() == 0


@pytest.mark.parametrize("name", ["IGGY_PATH", "IGGY_SYSTEM_PATH"])
def test_a_variable_of_each_shape_names_the_data_directory(make_node: StartNode, name: str) -> None:
    node = make_node(settings={"system.path": None}, environment={**ROOT_CREDENTIAL, name: "elsewhere"})
    node.data, node.runtime = node.folder / "elsewhere", node.folder / "elsewhere" / "runtime"
    assert create(node.start(), "s") == 0
    assert not (node.folder / "local_data").exists()
    assert node.terminate() == 0
