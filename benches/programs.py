"""The native programs of the benches: built by cargo, started on a CPU, and read."""

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from benches.machine import ROOT, profile
from tests.support.frames import REGISTER, Request, password_body
from tests.support.raw import PASSWORD, USERNAME

__all__ = ["LoadReport", "Target", "bare_echo", "load", "on_cpu", "program"]

_PING_CODE: Final = 1


@dataclass(frozen=True, slots=True)
class Target:
    """A server under load: where it listens and which process pays."""

    address: str
    pid: int


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What the load program says of one target; `native/shard/examples/load.rs` is the other half."""

    p50_ns: int
    p99_ns: int
    rounds: int
    elapsed_ns: int
    cpu_ns: int


@cache
def program(package: str, name: str) -> Path:
    """Builds an example of a crate in the profile of the installed extension; returns where it is."""
    command = ["cargo", "build", "--profile", profile(), "-p", package, "--example", name]
    command.append("--message-format=json-render-diagnostics")
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    messages = [json.loads(line) for line in built.splitlines()]
    paths = [
        message.get("executable") for message in messages if message.get("target", {}).get("name") == name
    ]
    return Path(next(path for path in paths if path is not None))


@contextlib.contextmanager
def on_cpu(cpu: int) -> Iterator[None]:
    """Processes started meanwhile run on this CPU alone."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def bare_echo(backend: str, cpu: int) -> Iterator[Target]:
    """A running echo server on a backend's driver and nothing else."""
    command = [str(program("ng-shard", "bare_echo")), backend, str(cpu)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as echo:
        assert echo.stdin is not None
        assert echo.stdout is not None
        try:
            yield Target(echo.stdout.readline().strip(), echo.pid)
        finally:
            echo.stdin.close()


def load(
    targets: Sequence[Target], *, kept: bool, connections: int, blocks: int, rounds: int, cpu: int
) -> list[LoadReport]:
    """Loads the targets in turns from one CPU."""
    with tempfile.TemporaryDirectory() as folder:
        hello, ping = Path(folder) / "hello", Path(folder) / "ping"
        hello.write_bytes(Request(REGISTER, body=password_body(USERNAME, PASSWORD)).encode())
        ping.write_bytes(Request(code=_PING_CODE, request=1).encode())
        shape = [
            "kept" if kept else "fresh",
            str(connections),
            str(blocks),
            str(rounds),
            str(hello),
            str(ping),
        ]
        where = [f"{target.address}/{target.pid}" for target in targets]
        command = [str(program("ng-shard", "load")), *shape, *where]
        with on_cpu(cpu):
            said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [LoadReport(**json.loads(line)) for line in said.splitlines()]
