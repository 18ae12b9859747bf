"""Exports: each message once in the table, whatever happens between two commits."""

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from server_ng.segments.lease import Lease
from server_ng.spark.command import main
from server_ng.spark.cutter import HeldLease
from server_ng.spark.errors import BadRecordError, DataLossError, FencedError, OptionError, TopicChangedError
from server_ng.spark.export.beside import WithDeadLetters
from server_ng.spark.export.job import Exported, Settings, export, on_threads
from server_ng.spark.export.partitioning import PartitionBy
from server_ng.spark.export.rows import Shape
from server_ng.spark.export.writing import DeadLetters, WriteTask, Written
from server_ng.spark.status import JobStatus
from tests.spark.exports import FIRST, RAW, SECOND, Crash, crashing, first_state, second_state
from tests.spark.topics import sealed
from tests.spark.written_table import KINDS, WrittenTable
from tests.support.lease_files import BASE_TIME, Message, WrittenSegment, segment


@pytest.fixture(params=KINDS)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> WrittenTable:
    """A table of each kind that does not exist yet."""
    return WrittenTable(request.param, tmp_path / "lake")


def test_a_table_follows_a_topic(table: WrittenTable, leased: Callable[..., HeldLease]) -> None:
    assert export(leased(first_state()), table.open(), RAW, on_threads) is not None
    rows = table.rows()
    assert table.places() == FIRST
    assert (rows[5]["value"], rows[5]["key"], rows[4]["key"]) == (b"0/5", b"k2", None)
    assert export(leased(first_state()), table.open(), RAW, on_threads) is None
    done = export(leased(second_state()), table.open(), RAW, on_threads)
    assert done is not None
    assert done.rows == 5
    assert table.places() == SECOND


@pytest.mark.parametrize("files", [0, 1, 2])
def test_a_job_that_died_before_its_commit_left_nothing(
    table: WrittenTable, leased: Callable[..., HeldLease], files: int
) -> None:
    export(leased({0: [sealed(0, 10)]}), table.open(), RAW, on_threads)
    with pytest.raises(Crash):
        export(leased(second_state()), table.open(), RAW, crashing(files))
    assert table.places() == FIRST[:10]
    export(leased(second_state()), table.open(), RAW, on_threads)
    assert table.places() == SECOND


def test_the_second_of_two_jobs_is_fenced(table: WrittenTable, leased: Callable[..., HeldLease]) -> None:
    export(leased({0: [sealed(0, 10)]}), table.open(), RAW, on_threads)

    def overtaken(tasks: Any) -> list[Written]:
        export(leased(first_state()), table.open(), RAW, on_threads)
        return on_threads(tasks)

    with pytest.raises(FencedError, match="another job"):
        export(leased(second_state()), table.open(), RAW, overtaken)
    assert table.places() == FIRST
    export(leased(second_state()), table.open(), RAW, on_threads)
    assert table.places() == SECOND


def test_two_jobs_that_both_found_no_table(table: WrittenTable, leased: Callable[..., HeldLease]) -> None:
    def overtaken(tasks: Any) -> list[Written]:
        export(leased(first_state()), table.open(), RAW, on_threads)
        return on_threads(tasks)

    with pytest.raises(FencedError):
        export(leased(first_state()), table.open(), RAW, overtaken)
    assert table.places() == FIRST


def test_a_job_without_rows_never_moves_progress_back(
    table: WrittenTable, leased: Callable[..., HeldLease]
) -> None:
    export(leased({0: [sealed(0, 10)]}), table.open(), RAW, on_threads)
    gap = leased({0: [sealed(0, 10)]})
    cut = gap.lease.partitions[0]
    end = replace(cut.segments[0], last_offset=11)
    moved = HeldLease(
        gap.path, replace(gap.lease, partitions=(replace(cut, segments=(end,), commit_offset=11),))
    )

    def overtaken(_: Any) -> list[Written]:
        export(leased(second_state()), table.open(), RAW, on_threads)
        return []

    with suppress(FencedError):
        export(moved, table.open(), RAW, overtaken)
    assert export(leased(second_state()), table.open(), RAW, on_threads) is None
    assert table.places() == SECOND


@pytest.mark.parametrize("how", [{"purge_generation": 1}, {"groups": {0: 77, 1: 8}}])
def test_another_topic_is_never_added(
    table: WrittenTable, leased: Callable[..., HeldLease], how: dict[str, Any]
) -> None:
    export(leased(first_state()), table.open(), RAW, on_threads)
    with pytest.raises(TopicChangedError):
        export(leased(second_state(), **how), table.open(), RAW, on_threads)
    assert table.places() == FIRST


def test_what_was_deleted_unread_is_told(table: WrittenTable, leased: Callable[..., HeldLease]) -> None:
    export(leased({0: [sealed(0, 10)]}), table.open(), RAW, on_threads)
    pruned = {0: [sealed(15, 5)]}
    with pytest.raises(DataLossError, match="from 10 to 14"):
        export(leased(pruned), table.open(), RAW, on_threads)
    export(leased(pruned), table.open(), replace(RAW, accept_loss=True), on_threads)
    assert table.places() == [*FIRST[:10], *((0, offset) for offset in range(15, 20))]


def test_an_older_lease_moves_nothing_back(table: WrittenTable, leased: Callable[..., HeldLease]) -> None:
    export(leased({0: [sealed(0, 20)]}), table.open(), RAW, on_threads)
    older = {0: [sealed(0, 10)], 1: [sealed(0, 7, partition=1, group=8)]}
    export(leased(older), table.open(), RAW, on_threads)
    assert table.places() == FIRST
    assert export(leased(first_state()), table.open(), RAW, on_threads) is None


@pytest.mark.parametrize("accept_loss", [False, True])
def test_a_lease_of_some_partitions_leaves_the_others_where_they_are(
    table: WrittenTable, leased: Callable[..., HeldLease], accept_loss: bool
) -> None:
    export(leased(first_state()), table.open(), RAW, on_threads)
    settings = replace(RAW, accept_loss=accept_loss)
    done = export(leased({0: second_state()[0]}, whole=False), table.open(), settings, on_threads)
    assert done is not None
    assert done.rows == 5
    assert export(leased(second_state()), table.open(), RAW, on_threads) is None
    assert table.places() == SECOND


def test_an_export_is_refused_in_its_own_words(table: WrittenTable, leased: Callable[..., HeldLease]) -> None:
    export(leased(first_state()), table.open(), RAW, on_threads)
    with pytest.raises(TopicChangedError, match="to another table"):
        export(leased(first_state(), purge_generation=1), table.open(), RAW, on_threads)
    with pytest.raises(DataLossError, match="give --accept-loss"):
        export(leased({**first_state(), 0: [sealed(30, 5)]}), table.open(), RAW, on_threads)


def test_other_columns_are_refused(
    table: WrittenTable, leased: Callable[..., HeldLease], tmp_path: Path
) -> None:
    export(leased(first_state()), table.open(), RAW, on_threads)
    schema = tmp_path / "schema.json"
    schema.write_text('{"amount": "long"}')
    with pytest.raises(OptionError, match="has other columns"):
        export(leased(second_state()), table.open(), Settings(Shape.of("json", schema)), on_threads)


def test_columns_of_another_type_are_refused(
    table: WrittenTable, leased: Callable[..., HeldLease], tmp_path: Path
) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"amount": "long"}')
    first = {0: [segment([[Message(0, b'{"amount": 1}')]])]}
    export(leased(first), table.open(), Settings(Shape.of("json", schema)), on_threads)
    schema.write_text('{"amount": "string"}')
    second = {0: [*first[0], segment([[Message(1, b'{"amount": "2"}')]])]}
    with pytest.raises(OptionError, match="has other columns"):
        export(leased(second), table.open(), Settings(Shape.of("json", schema)), on_threads)
    assert [row["amount"] for row in table.rows()] == [1]


def in_one_folder(kind: str, lake: Path) -> list[str]:
    """The words that name a table of a kind; of each kind it would lie in the same folder."""
    if kind != "iceberg":
        return ["--to", kind, "--target", str(lake / "orders" / "events")]
    catalog = (f"uri=sqlite:///{lake}/catalog.db", f"warehouse=file://{lake}")
    named = [word for each in catalog for word in ("--catalog", each)]
    return ["--to", kind, "--target", "orders.events", *named]


@pytest.mark.parametrize(
    ("first", "second"), [(one, other) for one in (*KINDS, "foreign") for other in KINDS if one != other]
)
def test_a_table_of_another_kind_in_the_same_folder_is_refused(
    tmp_path: Path,
    leased: Callable[..., HeldLease],
    capsys: pytest.CaptureFixture[str],
    first: str,
    second: str,
) -> None:
    lake = tmp_path / "lake"
    place = lake / "orders" / "events"
    lease = ["--lease", str(leased(first_state()).path)]
    if first == "foreign":
        place.mkdir(parents=True)
        pq.write_table(pa.table({"offset": [1]}), place / "part-0.parquet")
    else:
        lake.mkdir()
        assert main(["export", *lease, *in_one_folder(first, lake)]) == 0
        assert place.is_dir()
    before = set(place.rglob("*"))
    capsys.readouterr()
    # In this order: only once its namespace exists does an Iceberg catalog say where the table would lie.
    for how in ("--json", "--dry-run"):
        assert main(["export", how, *lease, *in_one_folder(second, lake)]) == JobStatus.USAGE
        (sentence,) = capsys.readouterr().err.splitlines()
        assert sentence.startswith(f"server-ng spark: {place} ")
        assert "another --target" in sentence
        assert first == "foreign" or f"Give --to {first}, " in sentence
    assert set(place.rglob("*")) == before


class TestParquet:
    """Steps of a commit, of which each may be the last."""

    def test_a_death_between_commit_and_publication_is_ended_by_the_next(
        self, tmp_path: Path, leased: Callable[..., HeldLease], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table = WrittenTable("parquet", tmp_path / "lake")
        moves = Path.rename

        def dies(self: Path, target: Path) -> Path:
            if target.name.startswith("00001-"):
                raise Crash
            return moves(self, target)

        with monkeypatch.context() as patched:
            patched.setattr(Path, "rename", dies)
            with pytest.raises(Crash):
                export(leased(first_state()), table.open(), RAW, on_threads)
        assert len(table.places()) == 20
        assert export(leased(first_state()), table.open(), RAW, on_threads) is None
        assert table.places() == FIRST

    def test_names_say_what_is_inside_and_commits_list_them(
        self, tmp_path: Path, leased: Callable[..., HeldLease]
    ) -> None:
        table = WrittenTable("parquet", tmp_path / "lake")
        export(leased({0: [sealed(3, 4)]}), table.open(), RAW, on_threads)
        name = f"00000-{3:020}-{7:020}.parquet"
        assert [each.name for each in (table.folder / "table").glob("*.parquet")] == [name]
        (commit,) = (table.folder / "table" / "_server_ng" / "commits").iterdir()
        found = json.loads(commit.read_text())
        assert [entry["name"] for entry in found["files"]] == [name]
        assert found["progress"]["partitions"]["0"] == {"group": f"{7:016x}", "purge": 0, "offset": "7"}


GOOD = {
    "amount": 5,
    "name": "a",
    "at": "2026-01-02T03:04:05Z",
    "extra": [1],
    "ratio": 2,
    "paid": True,
    "small": None,
}
BAD: list[bytes] = [
    b"",
    b"[]",
    b"{",
    b'{"amount": "5"}',
    b'{"small": 2147483648}',
    b'{"at": "soon"}',
    b"\xff",
]


DAY = 86_400_000_000


def over_days() -> dict[int, list[WrittenSegment]]:
    """Batches a quarter of a day apart."""
    batches = [[Message(10 * at + number, b"x") for number in range(3)] for at in range(8)]
    times = [BASE_TIME - BASE_TIME % DAY + at * DAY // 4 for at in range(8)]
    return {0: [segment(batches, times=times)], 1: [sealed(0, 7, partition=1, group=8)]}


@pytest.mark.parametrize("by", ["partition", "day", "hour"])
def test_rows_are_apart_by_partition_or_time(
    table: WrittenTable, leased: Callable[..., HeldLease], by: PartitionBy
) -> None:
    by = PartitionBy(by)
    settings = replace(RAW, partition_by=by)
    done = export(leased(over_days()), table.open(partition_by=by), settings, on_threads)
    assert done is not None
    assert done.files == {"partition": 2, "day": 3, "hour": 9}[by]
    assert export(leased(over_days()), table.open(partition_by=by), settings, on_threads) is None
    with pytest.raises(OptionError, match=r"is partitioned by|has other columns"):
        export(leased(over_days()), table.open(), RAW, on_threads)
    places = [(0, 10 * at + number) for at in range(8) for number in range(3)]
    if table.kind != "parquet":
        assert table.places() == [*places, *((1, offset) for offset in range(7))]
        return
    files = sorted((table.folder / "table").glob("*/*.parquet"))
    assert len(files) == done.files
    found = [
        (row["partition"], row["offset"]) for file in files for row in pq.ParquetFile(file).read().to_pylist()
    ]
    assert sorted(found) == [*places, *((1, offset) for offset in range(7))]
    assert {file.parent.name.partition("=")[0] for file in files} == {by}
    if by is PartitionBy.DAY:
        first = {row["timestamp"].date().isoformat() for row in pq.ParquetFile(files[0]).read().to_pylist()}
        assert files[0].parent.name == f"day={first.pop()}"
        assert not first


@pytest.mark.parametrize("died", [False, True])
def test_dead_letters_are_kept_once(
    table: WrittenTable,
    leased: Callable[..., HeldLease],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    died: bool,
) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"amount": "long"}')
    settings = Settings(Shape.of("json", schema), dead_letters=True)
    payloads = [b'{"amount": 1}', b"bad", b'{"amount": 2}', b"worse", b'{"amount": 3}', b"worst"]
    written = segment([[Message(offset, payload) for offset, payload in enumerate(payloads)]])
    if died:
        half = segment([[Message(offset, payload) for offset, payload in enumerate(payloads[:4])]])
        target = table.open(dead_letters=True)
        rows = target._rows if isinstance(target, WithDeadLetters) else target

        def dies(*_: object) -> None:
            raise Crash

        monkeypatch.setattr(rows, "commit", dies)
        with pytest.raises(Crash):
            export(leased({0: [half]}), target, settings, on_threads)
        assert table.kind == "parquet" or len(table.rows("_dead_letters")) == 2
    done = export(leased({0: [written]}), table.open(dead_letters=True), settings, on_threads)
    assert done is not None
    assert [row["amount"] for row in table.rows()] == [1, 2, 3]
    letters = [(row["offset"], row["value"]) for row in table.rows("_dead_letters")]
    assert letters == [(1, b"bad"), (3, b"worse"), (5, b"worst")]
    assert export(leased({0: [written]}), table.open(dead_letters=True), settings, on_threads) is None


def test_json_payloads_become_columns_and_dead_letters(
    tmp_path: Path, leased: Callable[..., HeldLease]
) -> None:
    payloads = [json.dumps(GOOD).encode(), *BAD, b"{}"]
    written = segment([[Message(offset, payload) for offset, payload in enumerate(payloads)]])
    schema = tmp_path / "schema.json"
    kinds = {
        "amount": "long",
        "name": "string",
        "at": "timestamp",
        "ratio": "double",
        "paid": "boolean",
        "small": "int",
    }
    schema.write_text(json.dumps(kinds))
    settings = Settings(Shape.of("json", schema))
    table = WrittenTable("parquet", tmp_path / "lake")
    with pytest.raises(BadRecordError, match="partition 0, offset 1"):
        export(leased({0: [written]}), table.open(), settings, on_threads)
    done = export(leased({0: [written]}), table.open(), replace(settings, dead_letters=True), on_threads)
    assert done == Exported(rows=2, dead_rows=len(BAD), files=1, log_bytes=written.cut.bytes)
    first, last = table.rows()
    assert (first["amount"], first["name"], first["ratio"], first["paid"], first["small"]) == (
        5,
        "a",
        2.0,
        True,
        None,
    )
    assert first["at"].isoformat() == "2026-01-02T03:04:05+00:00"
    assert "extra" not in first
    assert {name: last[name] for name in kinds} == dict.fromkeys(kinds)
    (letters,) = (table.folder / "table" / "_dead_letters").iterdir()
    found = pq.read_table(letters).to_pylist()
    assert [row["value"] for row in found] == BAD
    assert [row["offset"] for row in found] == list(range(1, 8))
    assert found[3]["reason"] == "amount: '5' is not a number of 64 bits"


POISON = [
    b"[" * 100_000,
    b'{"ratio": ' + b"9" * 400 + b"}",
    b'{"name": "\\ud800"}',
    b'{"name": ' + b"[" * 900 + b"]" * 900 + b"}",
    b'{"at": "0001-01-01T00:00:00+14:00"}',
    b'{"at": "9999-12-31T23:59:59-14:00"}',
    b'{"amount": ' + b"9" * 5000 + b"}",
]


def test_no_payload_ends_a_job_that_keeps_dead_letters(
    tmp_path: Path, leased: Callable[..., HeldLease]
) -> None:
    payloads = [b'{"name": "first"}', *POISON, b'{"name": "last"}']
    written = segment([[Message(offset, payload) for offset, payload in enumerate(payloads)]])
    schema = tmp_path / "schema.json"
    schema.write_text('{"amount": "long", "name": "string", "at": "timestamp", "ratio": "double"}')
    settings = Settings(Shape.of("json", schema), dead_letters=True)
    table = WrittenTable("parquet", tmp_path / "lake")
    done = export(leased({0: [written]}), table.open(), settings, on_threads)
    assert done is not None
    assert [row["name"] for row in table.rows()] == ["first", "last"]
    (letters,) = (table.folder / "table" / "_dead_letters").iterdir()
    found = pq.read_table(letters).to_pylist()
    assert [row["value"] for row in found] == POISON
    assert [row["offset"] for row in found] == list(range(1, 8))
    assert all(row["reason"] for row in found)


def test_avro_payloads_become_columns_and_dead_letters(
    tmp_path: Path, leased: Callable[..., HeldLease]
) -> None:
    import io

    declared = {
        "type": "record",
        "name": "Event",
        "fields": [
            {"name": "amount", "type": "long"},
            {"name": "note", "type": ["null", "string"]},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        ],
    }
    stream = io.BytesIO()
    fastavro.schemaless_writer(
        stream, fastavro.parse_schema(declared), {"amount": 7, "note": "x", "at": 1_000_000}
    )
    good = stream.getvalue()
    payloads = [good, good + b"\0", good[:-1], b"", good]
    written = segment([[Message(offset, payload) for offset, payload in enumerate(payloads)]])
    schema = tmp_path / "schema.avsc"
    schema.write_text(json.dumps(declared))
    settings = Settings(Shape.of("avro", schema), dead_letters=True)
    table = WrittenTable("parquet", tmp_path / "lake")
    done = export(leased({0: [written]}), table.open(), settings, on_threads)
    assert done is not None
    assert (done.rows, done.dead_rows) == (2, 3)
    assert [(row["amount"], row["note"], row["at"].timestamp()) for row in table.rows()] == [
        (7, "x", 1.0)
    ] * 2


@pytest.mark.parametrize(
    ("value_format", "text"),
    [
        ("json", "[]"),
        ("json", '{"a": "decimal"}'),
        ("json", "{"),
        ("json", '{"offset": "long"}'),
        ("json", '{"Key": "long"}'),
        ("json", '{"a": "long", "A": "long"}'),
        ("json", '{"a": ' + "[" * 100_000),
        ("avro", '"long"'),
        ("avro", '{"type": "record", "fields": []}'),
        ("avro", '{"type": "record", "name": "Event", "fields": [{"name": "a"}]}'),
        ("avro", '{"type": "record", "name": "Event", "fields": [{"name": "a", "type": "none"}]}'),
        ("avro", '{"type": "record", "name": "Event", "fields": [{"name": "offset", "type": "long"}]}'),
        ("raw", "{}"),
        ("xml", "{}"),
    ],
)
def test_schemas_that_cannot_be_used(tmp_path: Path, value_format: str, text: str) -> None:
    schema = tmp_path / "schema"
    schema.write_text(text)
    with pytest.raises(OptionError):
        Shape.of(value_format, schema)
    with pytest.raises(OptionError):
        Shape.of("json", tmp_path / "missing")


def test_the_command(
    tmp_path: Path,
    leased: Callable[..., HeldLease],
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lease = str(leased(first_state()).path)
    folder = str(tmp_path / "out")
    command = ["export", "--lease", lease, "--to", "parquet", "--target", folder, "--json"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == len(FIRST)
    assert main(command) == 3
    said = json.loads(capsys.readouterr().out)
    assert (said["rows"], said["files"], said["reason"]) == (0, 0, "the table has every message of the lease")
    assert main([*command, "--value-format", "json"]) == 78
    assert main(["export", "--lease", lease, "--to", "delta", "--target", str(tmp_path / "delta")]) == 0
    catalog = ["--catalog", f"uri=sqlite:///{tmp_path}/c.db", "--catalog", f"warehouse=file://{tmp_path}/w"]
    iceberg = ["export", "--lease", lease, "--to", "iceberg", "--target", "lake.events"]
    assert main([*iceberg, *catalog]) == 0
    assert caplog.records == []
    assert main(iceberg) == 78
    file = tmp_path / "catalog.properties"
    file.write_text("# of the lake\n\n" + "\n".join(catalog[1::2]))
    assert main([*iceberg, "--catalog-file", str(file)]) == 3
    for each in catalog[1::2]:
        name, _, value = each.partition("=")
        monkeypatch.setenv(f"PYICEBERG_CATALOG__SERVER_NG__{name.upper()}", value)
    assert main(iceberg) == 3
    file.write_text("a secret")
    capsys.readouterr()
    assert main([*iceberg, "--catalog-file", str(file)]) == 78
    assert "secret" not in capsys.readouterr().err
    changed = str(leased(second_state(), purge_generation=9).path)
    assert main(["export", "--lease", changed, "--to", "parquet", "--target", folder]) == 4


def test_a_dry_run_changes_nothing(
    table: WrittenTable, leased: Callable[..., HeldLease], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--to", table.kind, *table.words(), "--json"]

    def dry(topic: dict[int, list[WrittenSegment]]) -> tuple[int, list[tuple[int, int, int]]]:
        before = sorted(table.folder.rglob("*.*"))
        status = main(["export", "--lease", str(leased(topic).path), *words, "--dry-run"])
        assert [path for path in sorted(table.folder.rglob("*.*")) if path.name != "catalog.db"] == [
            path for path in before if path.name != "catalog.db"
        ]
        *said, total = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert total["partitions"] == len(said)
        assert ("reason" in total) == (status == JobStatus.NOTHING_TO_DO)
        return status, [(each["partition"], each["first_offset"], each["end_offset"]) for each in said]

    assert dry(first_state()) == (0, [(0, 0, 20), (1, 0, 7)])
    assert main(["export", "--lease", str(leased(first_state()).path), *words]) == 0
    capsys.readouterr()
    assert dry(first_state()) == (3, [])
    assert dry(second_state()) == (0, [(0, 20, 27)])


def test_damage_is_passed_over_and_counted_when_asked(
    table: WrittenTable, leased: Callable[..., HeldLease], capsys: pytest.CaptureFixture[str]
) -> None:
    held = leased(first_state())
    path = held.path / held.lease.partitions[0].segments[0].path
    rotten = bytearray(path.read_bytes())
    rotten[int.from_bytes(rotten[32:40], "little") + 256 + 50] ^= 1
    path.write_bytes(rotten)
    command = ["export", "--lease", str(held.path), "--to", table.kind, *table.words(), "--json"]
    assert main(command) == 6
    assert "is damaged at byte" in capsys.readouterr().err
    assert main([*command, "--on-damage", "skip"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["rows"], said["lost_offsets"]) == (22, 5)
    assert table.places() == [place for place in FIRST if not (place[0] == 0 and 5 <= place[1] < 10)]
    assert main(command) == 3


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_a_full_disk_leaves_the_table_as_it_was(
    tmp_path: Path, leased: Callable[..., HeldLease], kind: str
) -> None:
    table = WrittenTable(kind, tmp_path / "lake")
    export(leased({0: [sealed(0, 10)]}), table.open(), RAW, on_threads)
    lease = str(leased({0: [sealed(0, 2_000)]}).path)
    command = ["export", "--lease", lease, "--to", kind, "--target", str(table.folder / "table")]
    script = (
        "import resource, sys\n"
        "from server_ng.spark.command import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        f"sys.exit(main({command!r}))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 75, done.stderr
    assert "File too large" in done.stderr
    assert table.places() == FIRST[:10]
    assert main(command) == 0
    assert len(table.places()) == 2_000


def test_on_a_cluster_as_in_this_process(
    spark: object, tmp_path: Path, leased: Callable[..., HeldLease]
) -> None:
    lease = str(leased(first_state()).path)
    folder = tmp_path / "lake"
    table = WrittenTable("parquet", folder)
    target = str(folder / "table")
    assert (
        main(["export", "--lease", lease, "--to", "parquet", "--target", target, "--master", "local[2]"]) == 0
    )
    assert table.places() == FIRST


def test_tasks_survive_their_way_to_a_worker(tmp_path: Path, leased: Callable[..., HeldLease]) -> None:
    import pickle

    held = leased(first_state())
    assert Lease.read(held.path) == held.lease
    task = WriteTask(
        held.path, (), Shape(), "header:key", tmp_path, DeadLetters(tmp_path, 5), PartitionBy.DAY
    )
    assert pickle.loads(pickle.dumps(task)) == task
