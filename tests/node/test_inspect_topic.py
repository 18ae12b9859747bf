"""``server-ng inspect topic``: what is in the segments of a stopped server, and what is damaged there."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.batches import batch
from tests.support.fixtures import StartNode
from tests.support.node import Node, Plan, clean_environment
from tests.support.topic_client import Place, TopicClient
from tests.support.waiting import WAIT_MAX, until

_COMMAND = Path(sys.executable).with_name("server-ng")
_SHARDS = {"system.sharding.cpu_allocation": "2", "system.sharding.pin_cores": "false"}
_PLACE = Place("stream", "topic")
_PAYLOAD = 10_000


def inspect(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command on a data directory."""
    return subprocess.run(
        [_COMMAND, "inspect", "topic", *arguments, "--set", f"system.path={data}"],
        capture_output=True,
        text=True,
        timeout=WAIT_MAX,
        env=clean_environment(),
        check=False,
    )


def partitions(data: Path) -> tuple[int, list[dict[str, Any]]]:
    """The status, and what is said of each partition."""
    done = inspect(data, "stream", "topic", "--json")
    return done.returncode, json.loads(done.stdout)["partitions"]


def fill(node: Node) -> None:
    """Makes three partitions: one of several batches, one of one, and one without; all are in segments."""
    with TopicClient(node.connect_registered()) as client:
        client.create_stream(_PLACE.stream)
        client.create_topic(_PLACE, 3, 1 << 20)
        for first in range(0, 16, 2):
            assert client.send(_PLACE, 0, batch([b"x" * _PAYLOAD] * 2, first + 1), 2).status == 0
        assert client.send(_PLACE, 1, batch([b"a", b"b", b"c"]), 3).status == 0
    until(lambda: node.counters().total("unflushed_bytes") == 0, "an empty memory")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data directory of a server that was filled and stopped."""
    with Node(tmp_path_factory.mktemp("stopped"), Plan(settings=_SHARDS)) as node:
        fill(node.start())
        assert node.terminate() == 0
        yield node.data


@pytest.fixture
def data(stopped: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(stopped, tmp_path / "copy"))


def test_segments_and_offsets_of_each_partition_are_told(data: Path) -> None:
    status, (large, small, empty) = partitions(data)
    assert status == 0
    assert (large["last_offset"], small["last_offset"], empty["last_offset"]) == (15, 2, None)
    (segment,) = large["segments"]
    assert (segment["sealed"], segment["first_offset"], segment["last_offset"]) == (False, 0, 15)
    assert (segment["messages"], segment["damage"]) == (16, "")
    assert segment["file_bytes"] >= segment["bytes"] > 16 * _PAYLOAD
    assert [segment["messages"] for segment in small["segments"]] == [3]
    assert empty["segments"] == []


def test_numbers_name_it_as_well_and_a_table_is_printed(data: Path) -> None:
    done = inspect(data, "0", "0")
    assert (done.returncode, done.stderr) == (0, "")
    header, *rows = done.stdout.splitlines()
    assert header.split("\t")[:3] == ["partition", "segment", "sealed"]
    assert [row.split("\t")[0] for row in rows] == ["0", "1", "2"]


def test_what_only_the_journal_has_is_told_after_a_kill(start_node: StartNode) -> None:
    # Nothing is written to segments but what a manifest wants.
    node = start_node(Plan(settings=_SHARDS))
    fill(node)
    assert node.terminate() == 0
    node.start()
    with TopicClient(node.connect_registered()) as client:
        for first in (20, 21):
            assert client.send(_PLACE, 0, batch([b"late"], first), 1).status == 0
        assert client.send(_PLACE, 2, batch([b"first"] * 3, 30), 3).status == 0
        node.kill()
    status, (large, small, empty) = partitions(node.data)
    assert status == 0
    # What write-behind had done by then is in segments, all else in the journal.
    for partition, last in ((large, 17), (small, 2), (empty, 2)):
        batches = partition["journal"]
        ends = [segment["last_offset"] for segment in partition["segments"]]
        ends += [batch["last_offset"] for batch in batches]
        assert ends[-1] == last
        assert [batch["messages"] for batch in batches] == [
            batch["last_offset"] - batch["first_offset"] + 1 for batch in batches
        ]
        assert not partition["purged"]
    before = {path: path.read_bytes() for path in node.data.glob("shards/**/*") if path.is_file()}
    assert inspect(node.data, "stream", "topic").returncode == 0
    assert {path: path.read_bytes() for path in before} == before


def test_a_purge_that_only_the_journal_has_is_told(start_node: StartNode) -> None:
    node = start_node(Plan(settings=_SHARDS))
    fill(node)
    assert node.terminate() == 0
    node.start()
    with TopicClient(node.connect_registered()) as client:
        client.purge_topic(_PLACE)
        assert client.send(_PLACE, 0, batch([b"new"], 40), 1).status == 0
        node.kill()
    status, (large, *_) = partitions(node.data)
    assert status == 0
    in_segments = [segment for segment in large["segments"] if segment["messages"] == 1]
    assert in_segments or (large["purged"] and [batch["last_offset"] for batch in large["journal"]] == [0])


def test_damage_is_told_with_file_and_place(data: Path) -> None:
    _, (large, small, _) = partitions(data)
    rotten, missing = Path(large["segments"][0]["file"]), Path(small["segments"][0]["file"])
    content = bytearray(rotten.read_bytes())
    content[3 * _PAYLOAD] ^= 1
    rotten.write_bytes(content)
    missing.unlink()
    status, (large, small, empty) = partitions(data)
    assert status == 65
    (segment,) = large["segments"]
    assert (segment["last_offset"], segment["messages"]) == (1, 2)
    assert segment["damage"].endswith(f"at {segment['bytes']}")
    assert small["segments"][0]["damage"] == "No such file or directory"
    assert (large["damage"], small["damage"], empty["damage"]) == ("", "", "")


@pytest.mark.parametrize("length", [0, 40, 100])
def test_a_list_of_segments_that_is_cut_is_damage_of_its_partition(data: Path, length: int) -> None:
    for file in data.glob("groups/*/*/SEGMENTS"):
        file.write_bytes(file.read_bytes()[:length])
    status, (large, small, empty) = partitions(data)
    assert status == 65
    assert large["damage"].startswith("SEGMENTS: ")
    assert small["damage"].startswith("SEGMENTS: ")
    assert empty["damage"] == ""


def test_files_of_a_partition_that_are_gone_are_damage(data: Path) -> None:
    for directory in data.glob("groups/*/*1000"):
        shutil.rmtree(directory)
    status, (large, _, _) = partitions(data)
    assert status == 65
    assert large["damage"] == "no segment, and offset 15 was there"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("strea", "topic"), "there is no stream 'strea'"),
        (("7", "topic"), "there is no stream '7'"),
        (("stream", "9999999999"), "there is no topic '9999999999'"),
        (("stream", "\u00b9"), "there is no topic"),
    ],
)
def test_what_is_not_there_is_said(data: Path, arguments: tuple[str, str], sentence: str) -> None:
    done = inspect(data, *arguments)
    assert done.returncode == 78
    assert sentence in done.stderr


@pytest.mark.parametrize(
    "pattern",
    ["groups/00/8000000000000000/state-*", "shards/00000001-00000000/manifest-*", "LAYOUT"],
)
def test_a_damaged_file_of_the_metadata_is_named(data: Path, pattern: str) -> None:
    (file,) = data.glob(pattern)
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    done = inspect(data, "stream", "topic")
    assert done.returncode == 65
    assert str(file) in done.stderr


def test_another_directory_is_none_of_ours(tmp_path: Path) -> None:
    done = inspect(tmp_path, "stream", "topic")
    assert done.returncode == 78
    assert "is not a data directory" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_runs_and_one_that_never_stopped_in_order(start_node: StartNode) -> None:
    node = start_node(Plan(settings=_SHARDS))
    fill(node)
    done = inspect(node.data, "stream", "topic")
    assert done.returncode == 78
    (sentence,) = done.stderr.splitlines()
    (plan,) = re.findall(r"`(server-ng spark plan [^`]+)`", sentence)
    asked = subprocess.run(
        [_COMMAND, *shlex.split(plan)[1:]], capture_output=True, text=True, timeout=WAIT_MAX, check=False
    )
    assert asked.stdout.endswith("partitions=3  messages=19\n")
    node.kill()
    done = inspect(node.data, "stream", "topic")
    assert done.returncode == 78
    assert "stop it in order" in done.stderr
    node.start()
    assert node.terminate() == 0
    node.start()
    node.kill()
    done = inspect(node.data, "stream", "topic", "--json")
    assert done.returncode == 0
    assert "the last stop was not in order" in done.stderr
    assert [partition["last_offset"] for partition in json.loads(done.stdout)["partitions"]] == [15, 2, None]
