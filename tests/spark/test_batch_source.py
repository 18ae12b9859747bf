"""A topic as a table: every column, every bound, every filter, and what is wrong told by file and place."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from server_ng.segments.lease import MANIFEST_NAME, Lease
from server_ng.spark.schema import COLUMNS
from tests.spark.topics import message, sealed, small_topic
from tests.support.lease_files import BASE_TIME, write_lease

START = datetime.fromtimestamp(BASE_TIME // 1_000_000, UTC).replace(tzinfo=None)


@pytest.fixture
def lease(tmp_path: Path) -> Lease:
    """A small topic."""
    return small_topic(tmp_path / "lease")


@pytest.fixture
def path(lease: Lease, tmp_path: Path) -> str:
    """Where it is."""
    return str(tmp_path / "lease")


def table(spark: SparkSession, path: str, **options: str) -> DataFrame:
    return spark.read.format("server_ng").options(**options).load(path)


def places(found: Iterable[Row]) -> list[tuple[int, int]]:
    return sorted((row["partition"], row["offset"]) for row in found)


EVERY = [*((0, offset) for offset in range(33)), (1, 3), (1, 5), (1, 9), (1, 11)]


def test_every_row_has_what_was_sent(spark: SparkSession, path: str) -> None:
    rows = {(row["partition"], row["offset"]): row for row in table(spark, path).collect()}
    assert sorted(rows) == EVERY
    for offset in range(33):
        row, sent = rows[0, offset], message(offset)
        key = f"k{offset % 3}".encode() if sent.user_headers else None
        assert (bytes(row["value"]), row["key"]) == (sent.payload, key)
        within = offset if offset < 20 else offset - 20
        assert row["timestamp"] == START + timedelta(seconds=within // 5)
        assert (row["topic"], row["timestampType"]) == ("events", 1)


def test_columns_on_request(spark: SparkSession, path: str) -> None:
    names = "stream,id,headers,typed_headers,tombstone,user_headers,segment_start,origin_timestamp,offset"
    names += ",partition"
    rows = table(spark, path, columns=names).where("partition = 1").orderBy("offset").collect()
    assert rows[0].__fields__ == names.split(",")
    assert [bytes(row["id"]) for row in rows] == [
        number.to_bytes(16, "big") for number in (1 << 100, 1, 1, 1)
    ]
    assert [row["tombstone"] for row in rows] == [False, True, True, False]
    assert [(header["key"], bytes(header["value"])) for header in rows[0]["headers"]] == [
        ("key", b"one"),
        ("other", b"\xff"),
    ]
    assert [header["kind"] for header in rows[2]["typed_headers"]] == [3]
    assert rows[3]["headers"] is None
    assert bytes(rows[3]["user_headers"]) == b"no headers at all"
    assert {row["segment_start"] for row in rows} == {3}
    assert rows[0]["origin_timestamp"] == START - timedelta(microseconds=5)


def test_only_keys_and_headers_may_be_missing(spark: SparkSession, path: str) -> None:
    every = table(spark, path, columns=",".join(COLUMNS))
    assert [field.name for field in every.schema if field.nullable] == ["key", "headers", "typed_headers"]
    rows = every.collect()
    empty = {name for row in rows for name in COLUMNS if row[name] is None}
    assert (len(rows), empty) == (len(EVERY), {"key", "headers", "typed_headers"})


def test_a_schema_of_the_user_prunes(spark: SparkSession, path: str) -> None:
    found = spark.read.format("server_ng").schema("offset long, value binary").load(path)
    assert found.columns == ["offset", "value"]
    assert found.count() == len(EVERY)
    with pytest.raises(PySparkException, match="offset is bigint"):
        spark.read.format("server_ng").schema("offset int").load(path).count()


@pytest.mark.parametrize(
    "condition",
    [
        "partition = 0 and offset >= 18 and offset < 22",
        "partition in (1, 2) and offset > 3",
        "offset = 5",
        "offset > 9000000000000000000",
        "offset < -1",
        "timestamp >= '2023-11-14 22:13:22' and timestamp < '2023-11-14 22:13:24'",
        "timestamp < '1969-01-01'",
        "timestamp > '1969-01-01' and topic = 'events'",
        "topic = 'other'",
        "key is null and offset is not null",
        "key = 'k1' or offset = 3",
    ],
)
def test_filters_are_the_same_in_the_source_and_in_spark(
    spark: SparkSession, path: str, condition: str
) -> None:
    found = table(spark, path)
    everything = spark.createDataFrame(found.collect(), found.schema)
    assert places(found.where(condition).collect()) == places(everything.where(condition).collect())


def test_filters_are_applied_before_files_are_opened(spark: SparkSession, path: str, lease: Lease) -> None:
    (Path(path) / lease.partitions[0].segments[0].path).unlink()
    found = table(spark, path).where("partition = 0 and offset >= 20 and timestamp > '2020-01-01'")
    assert found.count() == 13
    plan = found._jdf.queryExecution().executedPlan().toString()
    assert " Filter " not in plan
    with pytest.raises(PySparkException, match="cannot be opened"):
        table(spark, path).count()


def test_without_pushdown_spark_filters(spark: SparkSession, path: str) -> None:
    setting = "spark.sql.python.filterPushdown.enabled"
    spark.conf.set(setting, "false")
    try:
        assert table(spark, path).where("offset = 5").count() == 2
    finally:
        spark.conf.set(setting, "true")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"startingOffsets": "latest"}, []),
        ({"endingOffsets": "earliest"}, []),
        ({"startingOffsets": '{"0": 30, "1": -1}'}, [(0, 30), (0, 31), (0, 32)]),
        (
            {"startingOffsets": '{"orders/events": {"0": 32}}', "endingOffsets": '{"1": 6}'},
            [(0, 32), (1, 3), (1, 5)],
        ),
        ({"assign": '{"orders/events": [1]}'}, EVERY[33:]),
        (
            {"startingTimestamp": str(BASE_TIME // 1000 + 1000), "endingOffsets": '{"0": 15}'},
            [*((0, offset) for offset in range(5, 15)), (1, 9), (1, 11)],
        ),
        ({"endingTimestamp": str(BASE_TIME // 1000)}, []),
        (
            {
                "startingOffsetsByTimestamp": f'{{"orders/events": {{"0": {BASE_TIME // 1000 + 1000}}}}}',
                "endingOffsets": '{"0": 7, "1": 6}',
            },
            [(0, 5), (0, 6), (1, 3), (1, 5)],
        ),
        (
            {
                "assign": '{"orders/events": [0]}',
                "endingOffsetsByTimestamp": f'{{"0": {BASE_TIME // 1000 + 1}}}',
            },
            [(0, offset) for offset in range(5)],
        ),
        ({"startingTimestamp": "99999999999999"}, []),
    ],
)
def test_bounds(
    spark: SparkSession, path: str, options: dict[str, str], expected: list[tuple[int, int]]
) -> None:
    assert places(table(spark, path, **options).collect()) == expected


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"strtingOffsets": "latest"}, "strtingoffsets is not an option"),
        ({"startingOffsets": '{"7": 1}'}, "no partition 7"),
        ({"startingOffsets": "[]"}, "startingOffsets"),
        ({"columns": "offset,valeu"}, "'valeu' is not a column"),
        ({"minPartitions": "0"}, "minPartitions"),
        ({"subscribe": "events"}, "stream/topic"),
        ({"subscribe": "orders/other"}, "is a lease of orders/events"),
        ({"startingOffsets": '{"0": 34}'}, "not 34"),
        ({"endingOffsets": '{"1": 2}'}, "not 2"),
        (
            {"startingTimestamp": "99999999999999", "startingOffsetsByTimestampStrategy": "error"},
            "partition 0: no message was appended at 99999999999999 ms or later",
        ),
        ({"maxOffsetsPerTrigger": "1", "maxBytesPerTrigger": "1"}, "not more"),
    ],
)
def test_wrong_options_are_named(spark: SparkSession, path: str, options: dict[str, str], says: str) -> None:
    with pytest.raises(PySparkException, match=says):
        table(spark, path, **options).count()


def test_what_was_deleted_may_be_left_out(spark: SparkSession, path: str) -> None:
    options = {"startingOffsets": '{"0": 34, "1": 0}', "failOnDataLoss": "false"}
    assert places(table(spark, path, **options).collect()) == EVERY[33:]


def test_neither_lease_nor_control_and_no_lease_at_all(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PySparkException, match="directory of a lease"):
        spark.read.format("server_ng").load().count()
    with pytest.raises(PySparkException, match="not a lease, or one that has ended"):
        table(spark, str(tmp_path)).count()
    with pytest.raises(PySparkException, match="no server listens"):
        spark.read.format("server_ng").options(
            control=str(tmp_path / "control.sock"), subscribe="orders/events"
        ).load().count()


def test_tasks_are_split_and_packed(spark: SparkSession, path: str) -> None:
    assert table(spark, path).rdd.getNumPartitions() == 1
    found = table(spark, path, maxRecordsPerPartition="10")
    assert found.rdd.getNumPartitions() == 5
    assert places(found.collect()) == EVERY
    assert places(table(spark, path, minPartitions="7", batchRows="3", batchBytes="4096").collect()) == EVERY


def test_damage_ends_the_query_or_is_counted(
    spark: SparkSession, path: str, lease: Lease, tmp_path: Path
) -> None:
    segment = Path(path) / lease.partitions[0].segments[0].path
    rotten = bytearray(segment.read_bytes())
    second = int.from_bytes(rotten[32:40], "little")
    rotten[second + 256 + 50] ^= 1
    segment.write_bytes(rotten)
    with pytest.raises(
        PySparkException, match=f"{segment.name} is damaged at byte {second}, from offset 5 on"
    ):
        table(spark, path).count()
    told = tmp_path / "damage"
    found = table(spark, path, onDamage="skip", damagePath=str(told)).collect()
    assert places(found) == [
        place for place in EVERY if place not in {(0, offset) for offset in range(5, 10)}
    ]
    (report,) = [json.loads(each.read_text()) for each in told.iterdir()]
    assert (report["first_offset"], report["end_offset"], report["position"]) == (5, 10, second)
    segment.write_bytes(rotten[: second + 10])
    with pytest.raises(PySparkException, match="the file ends"):
        table(spark, path).count()
    rows = table(spark, path, onDamage="skip").where("partition = 0").collect()
    assert {row["offset"] for row in rows} >= set(range(20, 33))


def lost_offsets(told: Path) -> list[tuple[int, int]]:
    """Partition and offset of all that is told to be lost, each once."""
    reports = [json.loads(each.read_text()) for each in told.iterdir()]
    found = [
        (each["partition"], offset)
        for each in reports
        for offset in range(each["first_offset"], each["end_offset"])
    ]
    assert len(set(found)) == len(found)
    return sorted(found)


@pytest.mark.parametrize("within", [33, 256 + 50])
def test_what_is_lost_is_told_exactly(spark: SparkSession, tmp_path: Path, within: int) -> None:
    topic = {0: [sealed(0, 20)], 1: [sealed(0, 20, partition=1, group=8)]}
    lease = write_lease(tmp_path / "lease", topic, groups={0: 7, 1: 8})
    for cut in lease.partitions:
        segment = tmp_path / "lease" / cut.segments[0].path
        rotten = bytearray(segment.read_bytes())
        second = int.from_bytes(rotten[32:40], "little")
        rotten[second + within] ^= 1
        segment.write_bytes(rotten)
    told = tmp_path / "damage"
    options = {"onDamage": "skip", "damagePath": str(told), "maxRecordsPerPartition": "4"}
    found = places(table(spark, str(tmp_path / "lease"), **options).collect())
    assert found
    assert sorted([*found, *lost_offsets(told)]) == [
        (partition, offset) for partition in range(2) for offset in range(20)
    ]
    # Behind a batch whose header is whole the next one is found.
    assert ((0, 19) in found) == (within > 256)
    since = str((BASE_TIME + 1_000_000) // 1000)
    later = table(spark, str(tmp_path / "lease"), startingTimestamp=since, onDamage="skip").collect()
    assert places(later) == ([place for place in found if place[1] >= 10])


def test_checksums_of_payloads_are_verified_unless_told_otherwise(
    spark: SparkSession, path: str, lease: Lease
) -> None:
    segment = Path(path) / lease.partitions[0].segments[1].path
    rotten = bytearray(segment.read_bytes())
    rotten[256 + 48] ^= 1
    segment.write_bytes(rotten)
    with pytest.raises(PySparkException, match="from offset 20 on: message: checksum"):
        table(spark, path).count()
    assert table(spark, path, verifyChecksums="false").count() == len(EVERY)


def test_many_segments_and_an_empty_topic(spark: SparkSession, tmp_path: Path) -> None:
    many = tmp_path / "many"
    write_lease(many, {0: [sealed(first, 10) for first in range(0, 1000, 10)]})
    assert table(spark, str(many)).selectExpr("count(distinct offset)", "sum(offset)").first() == (
        1000,
        499_500,
    )
    none = tmp_path / "none"
    write_lease(none, {0: []})
    assert table(spark, str(none)).collect() == []
    (none / MANIFEST_NAME).write_text("{}")
    with pytest.raises(PySparkException, match="version: it is missing"):
        table(spark, str(none)).count()


def test_a_topic_is_not_written_from_spark(spark: SparkSession, path: str) -> None:
    with pytest.raises(PySparkException, match="send messages with a client"):
        spark.range(1).write.format("server_ng").mode("append").save(path)
