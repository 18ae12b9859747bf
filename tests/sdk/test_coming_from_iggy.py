"""A server started with Iggy's own file and variables, and found through the file Iggy leaves."""

import signal
import tomllib
from pathlib import Path

import pytest
from apache_iggy import Consumer, IggyClient, PollingStrategy, SendMessage

from tests.support.fixtures import StartNode
from tests.support.node import ROOT_CREDENTIAL
from tests.support.raw import PASSWORD, USERNAME

_FILE = Path(__file__).parents[1] / "unit/config/iggy_defaults.toml"


@pytest.mark.asyncio
async def test_iggys_file_and_variables_start_it_and_iggys_client_uses_it(start_node: StartNode) -> None:
    environment = {
        **ROOT_CREDENTIAL,
        "IGGY_CONFIG_PATH": str(_FILE),
        "IGGY_TCP_ADDRESS": "127.0.0.1:0",
        "IGGY_METADATA_CLIENTS_TABLE_MAX": "100",
        "IGGY_SYSTEM_SHARDING_CPU_ALLOCATION": "1",
        "IGGY_CLUSTER_NAME": "moved-house",
        "IGGY_SYSTEM_ENCRYPTION_KEY": "not-to-be-shown",
        "IGGY_HEARTBEAT_INTERVALL": "1s",
    }
    node = start_node(environment=environment)
    current = (node.runtime / "current_config.toml").read_text()
    shape = tomllib.loads(current)
    assert "not-to-be-shown" not in current + node.stdout() + node.stderr()
    assert shape["cluster"]["name"] == "moved-house"
    assert shape["metadata"]["clients_table_max"] == 100
    assert not shape["websocket"]["enabled"]
    (inert,) = node.log("inert_keys")
    assert {"heartbeat.interval", "IGGY_SYSTEM_ENCRYPTION_KEY"} <= set(inert["keys"])
    (unknown,) = node.log("unknown_variable")
    assert unknown["message"].endswith("Did you mean IGGY_HEARTBEAT_INTERVAL?")

    client = IggyClient(shape["tcp"]["address"])
    await client.connect()
    await client.login_user(USERNAME, PASSWORD)
    await client.create_stream("moved")
    await client.create_topic("moved", "in", 1)
    await client.send_messages("moved", "in", 0, [SendMessage("a box")])
    polled = await client.poll_messages(
        "moved",
        "in",
        partition_id=0,
        consumer=Consumer.Single("me"),
        polling_strategy=PollingStrategy.First(),
        count=10,
        auto_commit=False,
    )
    assert [message.payload() for message in polled] == [b"a box"]
    assert node.terminate() == 0
    assert not (node.runtime / "current_config.toml").exists()


def test_a_key_of_nobody_in_iggys_file_ends_the_start_with_the_nearest_name(
    make_node: StartNode, tmp_path: Path
) -> None:
    file = tmp_path / "iggy.toml"
    file.write_text(_FILE.read_text() + "\n[sytem]\npath = 'x'\n")
    node = make_node(environment={**ROOT_CREDENTIAL, "IGGY_CONFIG_PATH": str(file)}).launch()
    assert node.wait() == 78
    assert "Did you mean system" in node.stderr()


def test_the_file_of_a_killed_server_is_gone_before_the_next_one_listens(start_node: StartNode) -> None:
    node = start_node()
    first = tomllib.loads((node.runtime / "current_config.toml").read_text())
    node.signal(signal.SIGKILL)
    node.wait()
    node.start()
    second = tomllib.loads((node.runtime / "current_config.toml").read_text())
    assert first["tcp"]["address"] != ""
    assert second["tcp"]["address"] == node.tcp
