"""Messages of the real client, through kills of the server, as Spark reads them: what the client polls."""

import asyncio
import json
from pathlib import Path

import pytest
from apache_iggy import Consumer, PollingStrategy, SendMessage
from pyspark.sql import DataFrame, SparkSession

from server_ng.spark.cutter import held
from tests.sdk.clients import logged_in
from tests.support.fixtures import LONG, StartNode
from tests.support.lease_command import lease_command
from tests.support.node import Node

ROUNDS = 2
PARTITIONS = 2
PER_BATCH = 500
BATCHES = 500 if LONG else 5
SETTINGS = {"system.sharding.cpu_allocation": "2", "system.sharding.pin_cores": "false"}

pytestmark = pytest.mark.timeout(1_200)

Record = tuple[int, int, bytes, bytes, int]
"""Partition, offset, id, payload, microseconds of the append."""


async def produce(node: Node, round_: int) -> None:
    """Sends to both partitions; what is answered is there for good."""
    client = await logged_in(node)
    if not round_:
        await client.create_stream("orders")
        await client.create_topic("orders", "events", PARTITIONS)
    for batch in range(BATCHES):
        for partition in range(PARTITIONS):
            payloads = [f"{round_}/{batch}/{number}/" + "x" * (number % 300) for number in range(PER_BATCH)]
            await client.send_messages(
                "orders", "events", partition, [SendMessage(payload) for payload in payloads]
            )


async def polled(node: Node) -> list[Record]:
    """Everything, as a consumer gets it."""
    client = await logged_in(node)
    found: list[Record] = []
    for partition in range(PARTITIONS):
        offset = 0
        while messages := await client.poll_messages(
            "orders",
            "events",
            consumer=Consumer.Single("reader"),
            polling_strategy=PollingStrategy.Offset(offset),
            count=1_000,
            auto_commit=False,
            partition_id=partition,
        ):
            for each in messages:
                identity = int(each.id()).to_bytes(16, "big")
                found.append((partition, each.offset(), identity, bytes(each.payload()), each.timestamp()))
            offset = messages[-1].offset() + 1
    return found


def read(frame: DataFrame) -> list[Record]:
    """The same of Spark's rows."""
    rows = frame.selectExpr("partition", "offset", "id", "value", "unix_micros(timestamp) as at").collect()
    return sorted((row[0], row[1], bytes(row[2]), bytes(row[3]), row[4]) for row in rows)


def test_spark_reads_what_the_client_polls(
    spark: SparkSession, start_node: StartNode, tmp_path: Path
) -> None:
    node = start_node(settings=SETTINGS)
    reader = spark.read.format("server_ng").option("columns", "partition,offset,id,value,timestamp")
    for round_ in range(ROUNDS):
        asyncio.run(produce(node, round_))
        node.kill()
        node.restart()
    expected = asyncio.run(polled(node))
    assert len(expected) == ROUNDS * BATCHES * PER_BATCH * PARTITIONS
    with held(node.endpoints["control"], "orders", "events") as leased:
        assert read(reader.load(str(leased.path))) == expected
    control = {"control": str(node.endpoints["control"]), "subscribe": "orders/events"}
    assert read(reader.options(**control).load()) == expected
    stream = spark.readStream.format("server_ng").options(
        **control, columns="partition,offset,id,value,timestamp"
    )
    query = (
        stream.load()
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )
    query.awaitTermination()
    assert read(spark.read.parquet(str(tmp_path / "out"))) == expected
    assert node.terminate() == 0
    offline = spark.read.format("server_ng").option("columns", "partition,offset,id,value,timestamp")
    assert read(offline.load(str(cut_of_a_stopped_server(node)))) == expected


def cut_of_a_stopped_server(node: Node) -> Path:
    """A lease that the command makes, which takes the place of the server for that long."""
    done = lease_command(node.data, "cut", "orders", "events", "--json", "--ttl", "600")
    assert done.returncode == 0, done.stderr
    return Path(json.loads(done.stdout)["path"])
