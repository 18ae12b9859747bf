"""Fixtures of every test that runs a server. A folder of such tests imports them in its conftest."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.support.node import ROOT_CREDENTIAL, Node, Plan

__all__ = ["BACKENDS", "LONG", "StartNode", "backend", "make_node", "served", "start_node"]

StartNode: TypeAlias = Callable[..., Node]

LONG = bool(os.environ.get("NG_LONG"))
"""Whether the tests run in their long form, with the numbers of a release rather than of every change."""

BACKENDS = ("posix", "uring")
"""Both are tested everywhere: a ring that cannot be used fails its tests."""


@pytest.fixture(params=BACKENDS, scope="session")
def backend(request: pytest.FixtureRequest) -> str:
    """Each I/O backend."""
    return str(request.param)


@pytest.fixture
def make_node(tmp_path: Path) -> Iterator[StartNode]:
    """Makes servers that are not running yet, of a plan or of its fields."""
    nodes: list[Node] = []

    def make(plan: Plan | None = None, **fields: Any) -> Node:
        folder = tmp_path / f"node-{len(nodes)}"
        folder.mkdir()
        nodes.append(Node(folder, plan or Plan(**fields)))
        return nodes[-1]

    yield make
    for node in nodes:
        node.close()


@pytest.fixture
def start_node(make_node: StartNode) -> StartNode:
    """Starts servers and waits until they are ready."""

    def start(plan: Plan | None = None, **fields: Any) -> Node:
        return make_node(plan, **fields).start()

    return start


@pytest.fixture(scope="module")
def served(backend: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """One server for the tests of a module that leave it as they found it, on each backend."""
    folder = tmp_path_factory.mktemp(f"served-{backend}")
    plan = Plan(settings={"system.io.backend": backend}, environment=ROOT_CREDENTIAL)
    with Node(folder, plan) as node:
        yield node.start()
        assert node.terminate() == 0
