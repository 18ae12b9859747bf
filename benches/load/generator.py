"""The native programs of this folder: built by cargo, started on a CPU, and read."""

import contextlib
import json
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from benches.load.cases import Case, Measurement
from benches.programs import Target, on_cpu

__all__ = ["null_sink", "prepare", "run"]

_FOLDER: Final = Path(__file__).resolve().parent

_FILLING_MESSAGES: Final = 1000
"""Messages of the batches that polls read."""


@cache
def _program(name: str) -> Path:
    """Builds one of the programs; returns where it is."""
    command = ["cargo", "build", "--release", "--bin", name, "--message-format=json-render-diagnostics"]
    built = subprocess.run(command, cwd=_FOLDER, stdout=subprocess.PIPE, text=True, check=True).stdout
    messages = [json.loads(line) for line in built.splitlines()]
    paths = [
        message.get("executable") for message in messages if message.get("target", {}).get("name") == name
    ]
    return Path(next(path for path in paths if path is not None))


@contextlib.contextmanager
def null_sink(case: Case, backend: str, cpu: int) -> Iterator[Target]:
    """A running server that forgets what it reads."""
    command = [str(_program("ng-null-sink")), backend, str(cpu), str(case.messages), str(case.bytes)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as sink:
        assert sink.stdin is not None
        assert sink.stdout is not None
        try:
            yield Target(sink.stdout.readline().strip(), sink.pid)
        finally:
            sink.stdin.close()


def prepare(case: Case, node: Target, cpu: int) -> None:
    """Makes the topic on a node, and what is to be polled."""
    messages = _FILLING_MESSAGES if case.kind == "poll" else case.messages
    command = [str(_program("ng-load")), "prepare", *_shape(case, node, messages)]
    with on_cpu(cpu):
        subprocess.run([*command, "--batches", str(case.batches)], check=True)


def run(case: Case, server: Target, cpu: int, seconds: float, rate: float | None = None) -> Measurement:
    """One measurement from one CPU: a closed loop, or an open one if there is a rate."""
    filled = case.batches * _FILLING_MESSAGES
    command = [str(_program("ng-load")), "run", *_shape(case, server, case.messages)]
    command += ["--kind", case.kind, "--clients", str(case.clients), "--pid", str(server.pid), "--json"]
    command += ["--requests", str(case.requests), "--seconds", str(seconds), "--filled", str(filled)]
    # Every poll finds what was polled before: the pass that counts is the second.
    command += ["--warm-up", str(min(filled // case.messages, case.requests // 10) or case.requests // 100)]
    if case.nagle:
        command.append("--nagle")
    if rate is not None:
        command += ["--rate", str(rate)]
    with on_cpu(cpu):
        said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return Measurement(**json.loads(said))


def _shape(case: Case, server: Target, messages: int) -> list[str]:
    shape = {"address": server.address, "messages": messages, "bytes": case.bytes}
    shape["partitions"] = case.partitions
    return [word for key, value in shape.items() for word in (f"--{key}", str(value))]
