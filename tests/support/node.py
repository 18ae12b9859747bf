"""A server as an object: started, watched and ended by a test."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import psutil

from tests.support.metrics_page import Counters, parse
from tests.support.notify_socket import NotifySocket
from tests.support.raw import PASSWORD, USERNAME, RawClient
from tests.support.waiting import WAIT_MAX, until

__all__ = [
    "FAULTY_START",
    "FEW_DESCRIPTORS_START",
    "FRAME_BYTES_MAX",
    "RINGLESS_START",
    "ROOT_CREDENTIAL",
    "UNPRIVILEGED_START",
    "Node",
    "Plan",
    "clean_environment",
    "faulty",
    "free_address",
]

FRAME_BYTES_MAX = 1 << 20
"""The longest frame of a node that is told nothing else."""

ROOT_CREDENTIAL: Mapping[str, str] = {"IGGY_ROOT_USERNAME": USERNAME, "IGGY_ROOT_PASSWORD": PASSWORD}

FAULTY_START = Path(__file__).with_name("faulty_start.py")
FEW_DESCRIPTORS_START = Path(__file__).with_name("few_descriptors_start.py")
RINGLESS_START = Path(__file__).with_name("ringless_start.py")
UNPRIVILEGED_START = Path(__file__).with_name("unprivileged_start.py")

_COMMAND = Path(sys.executable).with_name("server-ng")
_CLOSED_LOOPBACK = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def clean_environment() -> dict[str, str]:
    """The variables of this process, less those that mean something to a server."""
    leading = ("SERVER_NG", "IGGY_", "NOTIFY_SOCKET", "WATCHDOG_")
    return {name: value for name, value in os.environ.items() if not name.startswith(leading)}


@dataclass(frozen=True, slots=True)
class Plan:
    """How a server is to be started."""

    settings: Mapping[str, str | None] = field(default_factory=dict)
    """Keys and values given with ``--set``; ports and the data folder are chosen by the node.

    With none for its value a key is left to its default."""
    environment: Mapping[str, str] = field(default_factory=lambda: ROOT_CREDENTIAL)
    start: Path | None = None
    """A Python script to run instead of the installed command."""
    under: Sequence[str | Path] = ()
    """A command that starts that one: the process of the node is it."""


def faulty(fault: str, **settings: str) -> Plan:
    """A server to which the fault happens when SIGUSR1 comes; see `faulty_start`."""
    named = {key.replace("__", "."): value for key, value in settings.items()}
    return Plan(named, {**ROOT_CREDENTIAL, "NG_TEST_FAULT": fault}, FAULTY_START)


def free_address() -> str:
    """An address at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"


def _host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)


class Node:
    """A server in a folder of its own. It may be started again and again; its data stays."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.runtime = self.data / "runtime"
        self.notify = NotifySocket(folder)
        self.endpoints: dict[str, Any] = {}
        self._plan = plan
        self._process: subprocess.Popen[str] | None = None
        self._run = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def launch(self) -> Self:
        """Starts the process and waits for nothing."""
        self._run += 1
        self.notify.forget()
        settings: dict[str, str | None] = {
            "system.path": str(self.data),
            "tcp.address": "127.0.0.1:0",
            "observe.address": "127.0.0.1:0",
            # A file of the journal holds two of the largest frames: a test need not wait for so many zeroes.
            "message_bus.max_message_size": f"{FRAME_BYTES_MAX} B",
            **self._plan.settings,
        }
        start = [sys.executable, str(self._plan.start)] if self._plan.start else [str(_COMMAND)]
        overrides = [
            word
            for key, value in settings.items()
            if value is not None
            for word in ("--set", f"{key}={value}")
        ]
        with self._output("out").open("w") as out, self._output("err").open("w") as err:
            self._process = subprocess.Popen(
                [*self._plan.under, *start, "serve", *overrides],
                cwd=self.folder,
                env={**clean_environment(), **self.notify.environment, **self._plan.environment},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                text=True,
            )
        return self

    def start(self) -> Self:
        """Starts the process and returns once it is ready."""
        self.launch()
        assert self.notify.wait_for("READY=1", self.process), f"not ready: {self.stderr()}{self.stdout()}"
        self.read_endpoints()
        return self

    def read_endpoints(self) -> None:
        """Learns the addresses of a server that is ready."""
        self.endpoints = json.loads((self.runtime / "endpoints.json").read_text())

    def restart(
        self,
        settings: Mapping[str, str | None] | None = None,
        *,
        under: Sequence[str | Path] = (),
        environment: Mapping[str, str] | None = None,
    ) -> Self:
        """Starts again after an end, with more settings than before or with another environment."""
        self._plan = replace(
            self._plan,
            settings={**self._plan.settings, **(settings or {})},
            under=under,
            environment=self._plan.environment if environment is None else environment,
        )
        return self.start()

    @property
    def process(self) -> subprocess.Popen[str]:
        """The running or last process."""
        assert self._process is not None, "the server was never started"
        return self._process

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return self.process.pid

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal."""
        os.kill(self.pid, number)

    def wait(self) -> int:
        """Waits for the end; returns the exit status, negative for a signal."""
        return self.process.wait(WAIT_MAX)

    def terminate(self) -> int:
        """Asks for an orderly stop and returns the exit status."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> int:
        """Ends the process as a power cut would."""
        self.signal(signal.SIGKILL)
        return self.wait()

    def close(self) -> None:
        """Ends what still runs and shows what the server wrote: a test that failed wants to see it."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait(WAIT_MAX)
        self.notify.close()
        for path in sorted(self.folder.glob("run-*")):
            sys.stdout.write(f"--- {path.name}\n{path.read_text(errors='replace')}")

    def _output(self, kind: str) -> Path:
        return self.folder / f"run-{self._run}.{kind}"

    def stdout(self) -> str:
        """Everything on standard output of the current run."""
        return self._output("out").read_text()

    def stderr(self) -> str:
        """Everything on standard error of the current run."""
        return self._output("err").read_text()

    def log(self, event: str) -> list[dict[str, Any]]:
        """The log lines of an event in the current run."""
        # The last line may be half written.
        lines = self.stdout().splitlines(keepends=True)
        events = [json.loads(line) for line in lines if line.endswith("\n")]
        return [line for line in events if line["event"] == event]

    def wait_for_log(self, event: str) -> dict[str, Any]:
        """The first log line of an event, as soon as there is one."""
        until(lambda: bool(self.log(event)), f"the log line {event}")
        return self.log(event)[0]

    def last_crash(self) -> dict[str, Any]:
        """What the last crash left for the next start."""
        crash: dict[str, Any] = json.loads((self.runtime / "last_crash.json").read_text())
        return crash

    @property
    def tcp(self) -> str:
        """Where clients connect, as a text."""
        return str(self.endpoints["tcp"])

    @property
    def address(self) -> tuple[str, int]:
        """Where clients connect."""
        return _host_and_port(self.tcp)

    @property
    def observe_address(self) -> tuple[str, int]:
        """Where metrics and health are served."""
        return _host_and_port(str(self.endpoints["observe"]))

    def connect(self, receive_buffer: int | None = None, source: str = "") -> RawClient:
        """A new connection without a session, from the address `source` if there is one."""
        return RawClient(self.address, receive_buffer, source)

    def connect_registered(self) -> RawClient:
        """A new connection with a session."""
        client = self.connect()
        client.register()
        return client

    def http(self, path: str) -> str:
        """A page of the loopback listener."""
        with _CLOSED_LOOPBACK.open(f"http://{self.endpoints['observe']}{path}", timeout=WAIT_MAX) as answer:
            page: bytes = answer.read()
        return page.decode()

    def counters(self) -> Counters:
        """Every figure of the metrics page now."""
        return parse(self.http("/metrics"))

    def wait_for_count(self, expected: float, name: str, **labels: str) -> None:
        """Returns once the figure, summed over the shards, is what is expected."""
        until(lambda: self.counters().total(name, **labels) == expected, f"{name}{labels} = {expected}")

    def rss(self) -> int:
        """Resident memory in bytes."""
        return int(psutil.Process(self.pid).memory_info().rss)

    def descriptors(self) -> int:
        """Open descriptors."""
        return int(psutil.Process(self.pid).num_fds())

    def affinity(self, thread: str) -> set[int]:
        """The processors on which the thread of this name may run."""
        (task,) = (
            task
            for task in Path(f"/proc/{self.pid}/task").iterdir()
            if (task / "comm").read_text() == f"{thread}\n"
        )
        return os.sched_getaffinity(int(task.name))
