"""``server-ng spark``: jobs on topics. The server finds this package by name and never imports it."""

import argparse
import io
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from server_ng.segments.keys import DEFAULT_KEY
from server_ng.segments.lease import Lease
from server_ng.spark.compact.command import add_options, compact_topic
from server_ng.spark.cutter import Cutter, HeldLease, held
from server_ng.spark.errors import OptionError
from server_ng.spark.failures import failure_of, is_explained
from server_ng.spark.keys import key_rule
from server_ng.spark.meter import Meter
from server_ng.spark.status import JobStatus

if TYPE_CHECKING:
    from server_ng.spark.java_output import JavaOutput

__all__ = ["main"]

_KINDS: Final = ("parquet", "iceberg", "delta")
_UP_TO_DATE: Final = "the table has every message of the lease"
_EPILOG = (
    "Exit status: 0 done, 3 nothing to do, 4 fenced, 5 data loss, 6 corrupt input, 75 try later, 78 usage."
)


def main(arguments: Sequence[str]) -> int:
    """Runs one job and returns the exit status."""
    try:
        chosen = _parser().parse_args(arguments)
    except SystemExit as exit_:
        return JobStatus.USAGE if exit_.code else JobStatus.DONE
    try:
        status: JobStatus = chosen.run(chosen)
    except Exception as error:
        failure = failure_of(error)
        if failure is None:
            raise
        status, sentence = failure
        print(f"server-ng spark: {sentence}", file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="server-ng spark", description="Jobs on topics. Each job reads a lease.", epilog=_EPILOG
    )
    parser.set_defaults(run=partial(_help, parser))
    commands = parser.add_subparsers(metavar="COMMAND")
    _topic_command(commands, "plan", "list the offsets and bytes to read (dry run)", _plan)
    _topic_command(commands, "verify", "check every byte against the manifest", _verify)
    sql = _topic_command(commands, "sql", "run a query over the topic, as the table topic", _sql)
    sql.add_argument("query", metavar="QUERY", help='as in "select count(*) from topic"')
    sql.add_argument("--master", default="local[*]", help="master of Spark (local[*])")
    sql.add_argument("--rows", type=int, default=100, help="maximum rows to print (100)")
    _export_options(_topic_command(commands, "export", "add new messages to a table, exactly once", _export))
    add_options(_topic_command(commands, "compact", "keep the newest message of each key", _compact))
    status = commands.add_parser("status", help="list the leases that a server holds for jobs")
    status.add_argument("--control", type=Path, required=True, help="control.sock of the server")
    status.add_argument("--json", action="store_true", help="one object per lease")
    status.set_defaults(run=_status)
    gc = commands.add_parser("gc", help="end abandoned leases, and remove files of dead jobs")
    gc.add_argument("--control", type=Path, help="control.sock of the server that holds the leases")
    gc.add_argument("leases", nargs="*", metavar="LEASE", help="ids as status prints them")
    gc.add_argument("--target", help="a table, as for export: remove files of dead jobs")
    gc.add_argument("--to", choices=_KINDS, default="parquet", help="kind of table (parquet)")
    _catalog_options(gc)
    gc.add_argument("--dead-letters", action="store_true", help="also in its table of dead letters")
    gc.add_argument("--older-than", type=float, default=24.0, help="minimum hours since the job wrote (24)")
    gc.set_defaults(run=_gc)
    return parser


def _help(parser: argparse.ArgumentParser, _chosen: argparse.Namespace) -> JobStatus:
    parser.print_help()
    return JobStatus.DONE


def _topic_command(commands: Any, name: str, says: str, run: Any) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(name, help=says)
    made.add_argument("--lease", type=Path, help="the directory of a lease")
    made.add_argument("--control", type=Path, help="control.sock of the server: a lease for this job")
    made.add_argument("--topic", help="stream/topic, with --control")
    made.add_argument("--json", action="store_true", help="one object per line, the last one with totals")
    made.set_defaults(run=run)
    return made


def _export_options(made: argparse.ArgumentParser) -> None:
    made.add_argument("--to", choices=_KINDS, required=True, help="kind of table")
    made.add_argument("--target", required=True, help="directory of the table; for Iceberg, NAMESPACE.TABLE")
    _catalog_options(made)
    made.add_argument(
        "--value-format", choices=("raw", "json", "avro"), default="raw", help="format of payloads"
    )
    made.add_argument("--schema", type=Path, help="file with the schema of payloads")
    made.add_argument(
        "--dead-letters", action="store_true", help="store and count invalid payloads separately"
    )
    made.add_argument("--key", default=DEFAULT_KEY, help=f"none, id, header:NAME, json:/PATH ({DEFAULT_KEY})")
    made.add_argument(
        "--partition-by",
        choices=("nothing", "partition", "day", "hour"),
        default="nothing",
        help="partition the table by this; times are those of the append, UTC",
    )
    made.add_argument(
        "--on-damage",
        choices=("fail", "skip"),
        default="fail",
        help="skip: continue after damaged batches, and count their offsets",
    )
    made.add_argument("--dry-run", action="store_true", help="list the missing offsets, and change nothing")
    made.add_argument(
        "--accept-loss", action="store_true", help="continue if messages were deleted before their export"
    )
    made.add_argument("--master", help="master of Spark (default: work in this process)")


def _catalog_options(made: argparse.ArgumentParser) -> None:
    made.add_argument("--catalog", type=_property, action="append", default=[], help="Iceberg: NAME=VALUE")
    made.add_argument("--catalog-file", type=Path, help="Iceberg: a file of lines NAME=VALUE, for secrets")


def _property(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError("NAME=VALUE")
    return name, value


@contextmanager
def _leased(chosen: argparse.Namespace) -> Iterator[HeldLease]:
    """The lease that a job reads, for as long as it runs."""
    if chosen.lease is not None:
        # Workers of a cluster begin in folders of their own.
        yield HeldLease(chosen.lease.resolve(), Lease.read(chosen.lease))
        return
    if chosen.control is None or chosen.topic is None:
        raise OptionError("give --lease DIRECTORY, or --control SOCKET and --topic STREAM/TOPIC")
    stream, slash, topic = chosen.topic.partition("/")
    if not (stream and slash and topic):
        raise OptionError(f'--topic: {chosen.topic!r} is not "stream/topic"')
    with held(chosen.control, stream, topic) as lease:
        yield lease


def _bytes_of(lease: Lease) -> int:
    return sum(segment.bytes for cut in lease.partitions for segment in cut.segments)


def _say(chosen: argparse.Namespace, value: dict[str, object]) -> None:
    print(json.dumps(value) if chosen.json else "  ".join(f"{name}={value[name]}" for name in value))


def _plan(chosen: argparse.Namespace) -> JobStatus:
    with _leased(chosen) as leased:
        cuts = leased.lease.partitions
    for cut in cuts:
        _say(
            chosen,
            {
                "partition": cut.partition,
                "first_offset": cut.first_offset,
                "end_offset": cut.end_offset,
                "messages": cut.messages,
                "segments": len(cut.segments),
                "bytes": sum(segment.bytes for segment in cut.segments),
            },
        )
    messages = sum(cut.messages for cut in cuts)
    _say(chosen, {"partitions": len(cuts), "messages": messages})
    return JobStatus.DONE if messages else JobStatus.NOTHING_TO_DO


def _verify(chosen: argparse.Namespace) -> JobStatus:
    from server_ng.spark.verifying import findings

    with _leased(chosen) as leased, Meter(_bytes_of(leased.lease)) as meter:
        found = list(findings(leased.path, leased.lease, meter.told))
    bad = [each for each in found if "error" in each]
    for each in found if chosen.json else bad:
        _say(chosen, each)
    messages = sum(int(str(each["messages"])) for each in found)
    _say(chosen, {"segments": len(found), "damaged": len(bad), "messages": messages})
    return JobStatus.CORRUPT_INPUT if bad else JobStatus.DONE


def _export(chosen: argparse.Namespace) -> JobStatus:
    from server_ng.spark.export.job import Exported, Settings, export, lacking, on_spark, on_threads
    from server_ng.spark.export.opening import catalog_of, open_target
    from server_ng.spark.export.partitioning import PartitionBy
    from server_ng.spark.export.rows import Shape

    settings = Settings(
        shape=Shape.of(chosen.value_format, chosen.schema),
        key=key_rule(chosen.key),
        dead_letters=chosen.dead_letters,
        accept_loss=chosen.accept_loss,
        partition_by=PartitionBy(chosen.partition_by),
        skip_damage=chosen.on_damage == "skip",
    )
    target = open_target(
        chosen.to,
        chosen.target,
        catalog_of(chosen.catalog_file, chosen.catalog),
        dead_letters=chosen.dead_letters,
        partition_by=settings.partition_by,
    )
    with _leased(chosen) as leased, Meter(_bytes_of(leased.lease)) as meter:
        here = partial(on_threads, told=meter.told)
        engine = here if chosen.master is None else on_spark(chosen.master, meter.told)
        if chosen.dry_run:
            parts = lacking(leased, target, settings)
            for part in parts:
                _say(chosen, asdict(part))
            total: dict[str, object] = {
                "partitions": len(parts),
                "log_bytes": sum(part.log_bytes for part in parts),
            }
            _say(chosen, total if parts else {**total, "reason": _UP_TO_DATE})
            return JobStatus.DONE if parts else JobStatus.NOTHING_TO_DO
        done = export(leased, target, settings, engine)
    if done is None:
        _say(chosen, {**asdict(Exported.nothing()), "reason": _UP_TO_DATE})
        return JobStatus.NOTHING_TO_DO
    _say(chosen, asdict(done))
    return JobStatus.DONE


def _compact(chosen: argparse.Namespace) -> JobStatus:
    with _leased(chosen) as leased:
        return compact_topic(chosen, leased, lambda value: _say(chosen, value))


def _sql(chosen: argparse.Namespace) -> JobStatus:
    from server_ng.spark.java_output import JavaOutput

    with _leased(chosen) as leased, JavaOutput.kept() as said:
        try:
            return _query(chosen, leased, said)
        except Exception as error:
            if not is_explained(error):
                said.show()
            raise


def _query(chosen: argparse.Namespace, leased: HeldLease, said: "JavaOutput") -> JobStatus:
    from server_ng.spark.session import builder
    from server_ng.spark.watching import watching

    text = io.StringIO()
    with said.inherited():
        session = builder("server-ng spark sql", chosen.master).getOrCreate()
    session.read.format("server_ng").load(str(leased.path)).createOrReplaceTempView("topic")
    result = session.sql(chosen.query).limit(chosen.rows)
    size = _bytes_of(leased.lease)
    # The bar has its line to itself until it is gone.
    with Meter(size) as meter, watching(session.sparkContext, size, meter.told), redirect_stdout(text):
        if chosen.json:
            for row in result.selectExpr("to_json(struct(*)) as line").collect():
                print(row["line"])
        else:
            result.show(chosen.rows, truncate=80)
    print(text.getvalue(), end="")
    return JobStatus.DONE


def _status(chosen: argparse.Namespace) -> JobStatus:
    for lease in Cutter(chosen.control).leases():
        _say(chosen, lease)
    return JobStatus.DONE


def _gc(chosen: argparse.Namespace) -> JobStatus:
    if chosen.target is not None:
        from server_ng.spark.export.opening import catalog_of, open_target

        catalog = catalog_of(chosen.catalog_file, chosen.catalog)
        target = open_target(chosen.to, chosen.target, catalog, dead_letters=chosen.dead_letters)
        removed = target.collect(chosen.older_than * 3600)
        print(f"removed={removed}")
    if chosen.leases and chosen.control is None:
        raise OptionError("to end leases, give --control")
    for lease in chosen.leases:
        Cutter(chosen.control).release(lease)
    return JobStatus.DONE
