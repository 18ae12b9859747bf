"""``server-ng inspect topic``: inspects a topic's files offline."""

import json
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from server_ng.cli.options import FileOption, JsonOption, SetOption, load_or_exit
from server_ng.cli.tables import print_table
from server_ng.wire.tables import ExitStatus

if TYPE_CHECKING:
    from server_ng.bootstrap.stored_topic import StoredPartition

__all__ = ["topic"]

StreamArgument: TypeAlias = Annotated[str, typer.Argument(metavar="STREAM", help="Its name or number.")]
TopicArgument: TypeAlias = Annotated[str, typer.Argument(metavar="TOPIC", help="Its name or number.")]

_HEADER = ("partition", "segment", "sealed", "first", "last", "messages", "bytes", "file bytes", "damage")


def topic(
    stream: StreamArgument,
    topic: TopicArgument,
    config: FileOption = None,
    set_: SetOption = None,
    as_json: JsonOption = False,
) -> int:
    """Print partitions, segments, offsets and damage of a topic of a stopped server.

    Every batch is read and verified. Messages not yet in segments are shown from the journal; after a crash
    the last ones may be unacknowledged, which the next start decides. Nothing is changed. Exits with status
    65 if something is damaged.
    """
    settings = load_or_exit(config, set_).settings
    path = settings.system.path
    from server_ng.bootstrap.data_directory import DataDirectory
    from server_ng.bootstrap.errors import DirectoryInUseError, StartError
    from server_ng.bootstrap.stored_metadata import StoredError

    if not (path / "LAYOUT").exists():
        print(
            f"server-ng: {path.absolute()} is not a data directory: it has no LAYOUT. Name the server's "
            "configuration with --config, or the directory with --set system.path=DIRECTORY.",
            file=sys.stderr,
        )
        return ExitStatus.CONFIGURATION
    try:
        taken = DataDirectory.take(path, path)
    except DirectoryInUseError:
        print(f"server-ng: {_of_running(path, settings.runtime_path, stream, topic)}", file=sys.stderr)
        return ExitStatus.CONFIGURATION
    except StartError as error:
        print(f"server-ng: {error}", file=sys.stderr)
        return ExitStatus.CONFIGURATION
    try:
        return _inspect(path, stream, topic, as_json)
    except StoredError as error:
        print(f"server-ng: {error}", file=sys.stderr)
        return error.status
    finally:
        taken.release()


def _of_running(path: Path, runtime: Path, stream: str, topic: str) -> str:
    from server_ng.segments.control import SOCKET_NAME

    control = shlex.quote(str(runtime / SOCKET_NAME))
    return (
        f"A server runs on {path}, and its files change while it runs. Stop it first, or ask it: "
        f"`server-ng spark plan --control {control} --topic {shlex.quote(f'{stream}/{topic}')}` counts "
        "messages and segments, and `server-ng lease cut` keeps a snapshot of the topic for a job."
    )


def _inspect(path: Path, stream: str, topic: str, as_json: bool) -> int:
    from server_ng.bootstrap.stored_metadata import read_metadata
    from server_ng.bootstrap.stored_topic import find_topic, read_partitions

    metadata = read_metadata(path)
    if not metadata.clean:
        print(
            "server-ng: the last stop was not in order: changes of streams and topics after operation "
            f"{metadata.op} are only in the journal, and are not shown",
            file=sys.stderr,
        )
    outer, inner = find_topic(metadata.state, stream, topic)
    partitions = list(read_partitions(path, metadata, inner))
    if as_json:
        found = {
            "stream": {"id": outer.id, "name": outer.row.name},
            "topic": {"id": inner.id, "name": inner.row.name},
            "metadata_op": metadata.op,
            "clean": metadata.clean,
            "partitions": [asdict(partition) for partition in partitions],
        }
        print(json.dumps(found, indent=2))
    else:
        print_table(_HEADER, [row for partition in partitions for row in _rows(partition)])
    damaged = any(
        partition.damage or any(segment.damage for segment in partition.segments) for partition in partitions
    )
    return ExitStatus.DAMAGED_DATA if damaged else ExitStatus.CLEAN


def _rows(partition: "StoredPartition") -> list[tuple[str, ...]]:
    number = str(partition.partition)
    if not partition.segments and not partition.journal:
        return [(number, "-", "", "", _shown(partition.last_offset), "0", "0", "0", partition.damage)]
    return _segment_rows(number, partition) + _journal_rows(number, partition)


def _journal_rows(number: str, partition: "StoredPartition") -> list[tuple[str, ...]]:
    if not partition.journal:
        return []
    first, last = partition.journal[0].first_offset, partition.journal[-1].last_offset
    messages = sum(batch.messages for batch in partition.journal)
    size = sum(batch.bytes for batch in partition.journal)
    place = "the journal, after a purge" if partition.purged else "the journal"
    damage = "" if partition.segments else partition.damage
    return [(number, place, "false", str(first), str(last), str(messages), str(size), "", damage)]


def _segment_rows(number: str, partition: "StoredPartition") -> list[tuple[str, ...]]:
    return [
        (
            number,
            segment.file,
            str(segment.sealed).lower(),
            str(segment.first_offset),
            _shown(segment.last_offset),
            str(segment.messages),
            str(segment.bytes),
            str(segment.file_bytes),
            segment.damage or partition.damage,
        )
        for segment in partition.segments
    ]


def _shown(offset: int | None) -> str:
    return "-" if offset is None else str(offset)
