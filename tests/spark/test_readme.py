"""The example of the page about Spark does what the page says."""

import asyncio
import json
import re
import shlex
from pathlib import Path

import pytest
from apache_iggy import SendMessage
from matplotlib.image import imread
from pyspark.sql import SparkSession

from server_ng.spark.command import main
from tests.sdk.clients import logged_in
from tests.support.fixtures import StartNode
from tests.support.node import Node

PAGE = Path("server_ng") / "spark" / "README.md"
DAY = [4, 2, 1, 1, 2, 5, 14, 28, 37, 33, 30, 41, 52, 44, 36, 34, 39, 51, 58, 46, 31, 20, 13, 8]
"""Orders of each hour."""


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


async def produce(node: Node) -> int:
    """Sends the orders of a day; how many."""
    client = await logged_in(node)
    await client.create_stream("orders")
    await client.create_topic("orders", "events", 2)
    orders = [{"hour": hour, "amount": 7.5 + n % 5} for hour, count in enumerate(DAY) for n in range(count)]
    for partition in range(2):
        messages = [SendMessage(json.dumps(order)) for order in orders[partition::2]]
        await client.send_messages("orders", "events", partition, messages)
    return len(orders)


def test_the_example_and_the_query_of_the_page(
    spark: SparkSession,
    start_node: StartNode,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    node = start_node()
    sent = asyncio.run(produce(node))
    node.data.with_name("local_data").symlink_to(node.data)
    monkeypatch.chdir(node.folder)
    monkeypatch.setenv("MPLBACKEND", "agg")
    text = (root / PAGE).read_text()
    (example,) = blocks(text, "python")
    assert len([line for line in example.splitlines() if line]) <= 10
    exec(compile(example, str(PAGE), "exec"), {})
    (picture,) = re.findall(r"^!\[[^]]+\]\((.*)\)$", text, re.MULTILINE)
    shown = imread((root / PAGE).parent / picture)
    drawn = imread(node.folder / Path(picture).name)
    assert drawn.shape == shown.shape
    # Another processor may round the edge of a letter in another way.
    assert float(abs(drawn - shown).mean()) < 0.002
    (query,) = re.findall(r"`(server-ng spark sql [^`]*)`", text)
    assert main(shlex.split(query)[2:]) == 0
    assert re.search(rf"\|\s*{sent}\|", capsys.readouterr().out)
