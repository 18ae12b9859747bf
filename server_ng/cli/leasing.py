"""``server-ng lease``: snapshots of topics for offline jobs, of a running or stopped server."""

import json
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final, TypeAlias

import typer

from server_ng.cli.options import FileOption, JsonOption, SetOption, load_or_exit
from server_ng.cli.tables import print_table
from server_ng.config import Loaded, load
from server_ng.wire.tables import ExitStatus

__all__ = ["app"]

_HELP: Final = "Snapshots of topics for offline jobs."
# Settings of a server started for one cut: clients cannot reach it, and it keeps the recorded shards.
_SHUT: Final = (
    "tcp.address=127.0.0.1:0",
    "observe.enabled=false",
    "leases.enabled=true",
    "system.sharding.pin_cores=false",
)
_COLUMNS: Final = ("lease", "stream", "topic", "partitions", "messages", "bytes", "expires")

StreamArgument: TypeAlias = Annotated[str, typer.Argument(metavar="STREAM", help="Name of the stream.")]
TopicArgument: TypeAlias = Annotated[str, typer.Argument(metavar="TOPIC", help="Name of the topic.")]
LeaseArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="LEASE", help="Id of the lease, as `cut` prints it.")
]
TtlOption: TypeAlias = Annotated[
    float,
    typer.Option("--ttl", metavar="SECONDS", min=1, help="Seconds until the lease ends, unless renewed."),
]
PartitionOption: TypeAlias = Annotated[
    list[int] | None,
    typer.Option("--partition", metavar="N", min=0, help="Only this partition (repeatable)."),
]

app = typer.Typer(help=_HELP, no_args_is_help=True)


@app.callback()
def lease() -> None:
    """Snapshots of topics for offline jobs."""


@app.command("cut")
def cut(
    stream: StreamArgument,
    topic: TopicArgument,
    *,
    partition: PartitionOption = None,
    ttl: TtlOption = 3600.0,
    config: FileOption = None,
    set_: SetOption = None,
    as_json: JsonOption = False,
) -> int:
    """Create a lease: a directory with all committed messages of a topic, and a manifest.

    The lease does not change with the topic. If the server is stopped, the command opens its data directory
    for the time of the cut. Exits with status 78 if the lease is refused.
    """
    fields = {"stream": stream, "topic": topic, "ttl": ttl, "partitions": partition or None}
    status, answer = _ask(config, set_, {"verb": "cut", **fields})
    if answer is not None:
        _print_cut(answer, as_json=as_json)
    return status


@app.command("renew")
def renew(
    lease: LeaseArgument, ttl: TtlOption = 3600.0, config: FileOption = None, set_: SetOption = None
) -> int:
    """Set the time until a lease ends."""
    status, _ = _ask(config, set_, {"verb": "renew", "lease": lease, "ttl": ttl})
    return status


@app.command("release")
def release(lease: LeaseArgument, config: FileOption = None, set_: SetOption = None) -> int:
    """End a lease and delete its directory."""
    status, _ = _ask(config, set_, {"verb": "release", "lease": lease})
    return status


@app.command("list")
def list_leases(config: FileOption = None, set_: SetOption = None, as_json: JsonOption = False) -> int:
    """Print all leases."""
    status, answer = _ask(config, set_, {"verb": "leases"})
    if answer is None:
        return status
    if as_json:
        print(json.dumps(answer["leases"], indent=2))
    else:
        shown = [{**each, "expires": _moment(each["expires"])} for each in answer["leases"]]
        print_table(_COLUMNS, [tuple(str(each[column]) for column in _COLUMNS) for each in shown])
    return status


def _moment(micros: int) -> str:
    return datetime.fromtimestamp(micros // 1_000_000, UTC).isoformat()


def _print_cut(answer: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({key: value for key, value in answer.items() if key != "ok"}))
        return
    partitions = answer["manifest"]["partitions"]
    messages = sum(each["messages"] for found in partitions for each in found["segments"])
    print(f"{answer['lease']}\t{messages} messages of {len(partitions)} partitions\t{answer['path']}")


def _ask(
    config: FileOption, overrides: list[str] | None, request: dict[str, Any]
) -> tuple[int, dict[str, Any] | None]:
    """Exit status and answer of the running server, or of one started for this request."""
    loaded = load_or_exit(config, overrides)
    from server_ng.segments.control import SOCKET_NAME, Control, ControlAbsentError, ControlError

    try:
        with Control(loaded.settings.runtime_path / SOCKET_NAME) as control:
            return ExitStatus.CLEAN, control.ask(**request)
    except ControlAbsentError:
        return _ask_stopped(loaded, request)
    except ControlError as error:
        print(f"server-ng: {error}", file=sys.stderr)
        return ExitStatus.CONFIGURATION, None


def _ask_stopped(loaded: Loaded, request: dict[str, Any]) -> tuple[int, dict[str, Any] | None]:
    if not (loaded.settings.system.path / "LAYOUT").exists():
        print(
            f"server-ng: No server runs on {loaded.settings.system.path}, and it is not a data directory. "
            "Name the server's configuration with --config or system.path with --set.",
            file=sys.stderr,
        )
        return ExitStatus.CONFIGURATION, None
    from server_ng.bootstrap.daemon import serve_job
    from server_ng.bootstrap.leasing import Leasing
    from server_ng.leases.errors import LeaseRefusedError
    from server_ng.leases.requests import parse

    answers: list[dict[str, Any]] = []

    async def job(leasing: Leasing) -> None:
        try:
            answers.append(await leasing.serve(parse(json.dumps(request).encode())))
        except LeaseRefusedError as error:
            print(f"server-ng: {error}", file=sys.stderr)

    shut = load(loaded.inputs.file, os.environ, [*loaded.inputs.overrides, *_SHUT])
    status = serve_job(shut, job)
    if status == ExitStatus.CLEAN and not answers:
        status = ExitStatus.CONFIGURATION
    return status, answers[0] if answers else None
