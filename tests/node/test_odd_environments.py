"""Environments that a supervisor, a container or a shell may leave to the server."""

import json
import os
from pathlib import Path

import pytest

from tests.support.fixtures import StartNode
from tests.support.node import ROOT_CREDENTIAL, Node

CONFIGURATION = 78


def shell(script: str) -> list[str | Path]:
    """A command that prepares an environment and becomes the one that follows it."""
    return ["sh", "-c", f'{script} exec "$@"', "sh"]


def standard_files(node: Node) -> list[str]:
    """What the three standard descriptors are."""
    return [str(Path(f"/proc/{node.pid}/fd/{number}").readlink()) for number in range(3)]


def serves_and_stops(node: Node) -> None:
    with node.connect_registered() as client:
        client.ping()
    assert json.loads(node.http("/ready"))["ready"]
    assert "server_ng" in node.http("/metrics")
    assert node.terminate() == 0


def test_with_a_closed_output_the_log_goes_to_standard_error(start_node: StartNode) -> None:
    node = start_node(under=["sh", "-c", 'exec "$@" >&-', "sh"])
    serves_and_stops(node)
    assert node.stdout() == ""
    events = [json.loads(line)["event"] for line in node.stderr().splitlines()]
    assert events[-1] == "stopped"
    assert "server_ready" in events


@pytest.mark.parametrize("closed", ["<&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_never_files_of_the_data_directory(start_node: StartNode, closed: str) -> None:
    node = start_node(under=["sh", "-c", f'exec "$@" {closed}', "sh"])
    files = standard_files(node)
    assert os.devnull in files
    assert not [file for file in files if file.startswith(str(node.data))]
    serves_and_stops(node)


@pytest.mark.parametrize("to", [">/dev/full", "2>/dev/full", ">/dev/full 2>&1", ">&- 2>&-"])
def test_messages_that_cannot_be_written_change_no_status(
    make_node: StartNode, tmp_path: Path, to: str
) -> None:
    under = ["sh", "-c", f'exec "$@" {to}', "sh"]
    serves_and_stops(make_node(under=under).start())
    file = tmp_path / "file"
    file.write_text("")
    assert make_node(settings={"system.path": str(file)}, under=under).launch().wait() == CONFIGURATION
    assert make_node(settings={"tcp.address": "nowhere"}, under=under).launch().wait() == CONFIGURATION


@pytest.mark.parametrize(
    "script",
    [
        "umask 077;",
        "unset HOME TERM LANG LC_ALL PATH;",
        "LC_ALL=C; export LC_ALL;",
        "LC_ALL=xx_YY; export LC_ALL;",
        "mkdir gone && cd gone && rmdir ../gone &&",
        "PYTHONOPTIMIZE=2; export PYTHONOPTIMIZE;",
    ],
)
def test_what_the_environment_lacks_is_not_needed(start_node: StartNode, script: str) -> None:
    node = start_node(under=shell(script))
    assert node.stderr() == ""
    serves_and_stops(node)


def test_a_working_directory_may_have_any_name(make_node: StartNode, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"not utf-8: \xff")
    node = make_node(
        settings={"system.path": "data"},
        environment={**ROOT_CREDENTIAL, "NAME": str(folder)},
        under=shell('mkdir "$NAME" && cd "$NAME" &&'),
    )
    node.data, node.runtime = folder / "data", folder / "data" / "runtime"
    serves_and_stops(node.start())


def test_a_path_that_is_not_utf_8_is_refused_in_a_sentence(make_node: StartNode) -> None:
    node = make_node(settings={"system.path": os.fsdecode(b"/tmp/\xff")})
    assert node.launch().wait() == CONFIGURATION
    assert "system.path (--set): this is not a path of UTF-8 text." in node.stderr()


@pytest.mark.parametrize("limit", [20, 60, 100])
def test_few_descriptors_are_refused_in_a_sentence(make_node: StartNode, limit: int) -> None:
    node = make_node(under=shell(f"ulimit -n {limit} &&"))
    assert node.launch().wait() == CONFIGURATION
    assert f"The process may open {limit} files, and needs " in node.stderr()


def test_a_low_soft_limit_of_descriptors_is_raised(start_node: StartNode) -> None:
    serves_and_stops(start_node(under=shell("ulimit -Sn 20 &&")))
