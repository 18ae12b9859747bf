"""Pings against a bare echo on the same backend, and one backend against the other."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Final

from benches import process
from benches.figures import Figure
from benches.nodes import backends, running
from benches.programs import LoadReport, Target, bare_echo, load
from tests.support.node import Node

__all__ = ["measure"]

_ALONE_BLOCKS: Final = 20
_ALONE_ROUNDS: Final = 1_000
_CROWD: Final = 32
_CROWD_BLOCKS: Final = 10
_CROWD_ROUNDS: Final = 300
# One block more than counts: the load warms up with it.
_CROWD_PINGS: Final = _CROWD * (_CROWD_BLOCKS + 1) * _CROWD_ROUNDS
_CHURN_BLOCKS: Final = 5
_CHURN_ROUNDS: Final = 400

Reports = Mapping[str, LoadReport]
"""By target: ``ping`` or ``echo``, a space, and the backend."""


def measure() -> Iterator[Figure]:
    """Latency, rate, CPU and churn."""
    with contextlib.ExitStack() as stack:
        nodes = {backend: stack.enter_context(running(backend)) for backend in backends()}
        shard_cpu = process.shard_cpu(next(iter(nodes.values())).pid)
        targets: dict[str, Target] = {}
        for backend, server in nodes.items():
            targets[f"ping {backend}"] = Target(server.tcp, server.pid)
            targets[f"echo {backend}"] = stack.enter_context(bare_echo(backend, shard_cpu))
        other = min(os.sched_getaffinity(0) - {shard_cpu}, default=shard_cpu)
        for where, cpu in (("same core", shard_cpu), ("across cores", other)):
            yield from _latency(_alone(targets, cpu), where)
        before = {backend: _calls(server) for backend, server in nodes.items()}
        crowd = _crowd(targets, other)
        for backend, server in nodes.items():
            calls = (_calls(server) - before[backend]) / _CROWD_PINGS
            yield Figure(f"system calls of a ping among {_CROWD}, {backend}", calls, "calls")
        yield from _cost(crowd)
        yield from _churn(targets, other)


def _alone(targets: Mapping[str, Target], cpu: int) -> Reports:
    reports = load(
        list(targets.values()), kept=True, connections=1, blocks=_ALONE_BLOCKS, rounds=_ALONE_ROUNDS, cpu=cpu
    )
    return dict(zip(targets, reports, strict=True))


def _crowd(targets: Mapping[str, Target], cpu: int) -> Reports:
    reports = load(
        list(targets.values()),
        kept=True,
        connections=_CROWD,
        blocks=_CROWD_BLOCKS,
        rounds=_CROWD_ROUNDS,
        cpu=cpu,
    )
    return dict(zip(targets, reports, strict=True))


def _latency(reports: Reports, where: str) -> Iterator[Figure]:
    for backend in backends():
        ping, echo = reports[f"ping {backend}"], reports[f"echo {backend}"]
        for rank, mine, floor in (("p50", ping.p50_ns, echo.p50_ns), ("p99", ping.p99_ns, echo.p99_ns)):
            name = f"ping / echo, {rank}, {where}, {backend}"
            yield Figure(name, mine / floor, "x", f"{mine / 1e3:.1f} us / {floor / 1e3:.1f} us")
    if "ping uring" in reports:
        uring, posix = reports["ping uring"].p50_ns, reports["ping posix"].p50_ns
        yield Figure(f"uring / posix, ping p50, {where}", uring / posix, "x")


def _calls(server: Node) -> float:
    return server.counters().total("io_syscalls_total")


def _cost(reports: Reports) -> Iterator[Figure]:
    """Rate and CPU of pings on many connections at once."""
    rates = {name: _CROWD * report.rounds / report.elapsed_ns * 1e9 for name, report in reports.items()}
    costs = {name: report.cpu_ns / (_CROWD * report.rounds) for name, report in reports.items()}
    for backend in backends():
        ping, echo = f"ping {backend}", f"echo {backend}"
        yield Figure(
            f"ping rate / echo rate, {backend}", rates[ping] / rates[echo], "x", f"{rates[ping]:.0f} pings/s"
        )
        cost = f"{costs[ping]:.0f} ns / {costs[echo]:.0f} ns"
        yield Figure(f"CPU of a ping / of an echo, {backend}", costs[ping] / costs[echo], "x", cost)
    if "ping uring" in reports:
        yield Figure("uring / posix, ping rate", rates["ping uring"] / rates["ping posix"], "x")
        yield Figure("uring / posix, CPU of a ping", costs["ping uring"] / costs["ping posix"], "x")


def _churn(targets: Mapping[str, Target], cpu: int) -> Iterator[Figure]:
    """Connections opened, pinged on once and closed, one after another."""
    reports = load(
        list(targets.values()), kept=False, connections=1, blocks=_CHURN_BLOCKS, rounds=_CHURN_ROUNDS, cpu=cpu
    )
    rates = {
        name: report.rounds / report.elapsed_ns * 1e9 for name, report in zip(targets, reports, strict=True)
    }
    for backend in backends():
        mine, floor = rates[f"ping {backend}"], rates[f"echo {backend}"]
        note = f"{mine:.0f} connections/s"
        yield Figure(f"connection churn / of a bare echo, {backend}", mine / floor, "x", note)
