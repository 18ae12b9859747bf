"""The example of the page about Spark does what the page says."""

import asyncio
import re
import shlex
from pathlib import Path

import pytest
from apache_iggy import SendMessage
from pyspark.sql import SparkSession

from server_ng.spark.command import main
from tests.sdk.clients import logged_in
from tests.support.fixtures import StartNode
from tests.support.node import Node

PAGE = Path("server_ng") / "spark" / "README.md"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


async def produce(node: Node) -> None:
    client = await logged_in(node)
    await client.create_stream("orders")
    await client.create_topic("orders", "events", 2)
    for partition in range(2):
        messages = [SendMessage(f"order {number}") for number in range(50)]
        await client.send_messages("orders", "events", partition, messages)


def test_the_example_and_the_query_of_the_page(
    spark: SparkSession,
    start_node: StartNode,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    node = start_node()
    asyncio.run(produce(node))
    node.data.with_name("local_data").symlink_to(node.data)
    monkeypatch.chdir(node.folder)
    page = (root / PAGE).read_text()
    (example,) = blocks(page, "python")
    exec(compile(example, str(PAGE), "exec"), {})
    shown = capsys.readouterr().out
    counts = [
        int(count)
        for count in re.findall(r"^\|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\|\s*(\d+)\|$", shown, re.MULTILINE)
    ]
    assert sum(counts) == 100, shown
    (query,) = re.findall(r"`(server-ng spark sql [^`]*)`", page)
    assert main(shlex.split(query)[2:]) == 0
    assert re.search(r"\|\s*100\|", capsys.readouterr().out)
