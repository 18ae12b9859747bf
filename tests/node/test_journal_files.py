"""Files of a journal that are not what was left there: each is named, and the remedy that is named works."""

import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.batches import batch
from tests.support.fixtures import StartNode
from tests.support.node import Node, clean_environment
from tests.support.storage_reader import PAGE, blocks, golden_file, layout
from tests.support.topic_client import Place, TopicClient, base_offset
from tests.support.waiting import WAIT_MAX

DAMAGED, CONFIGURATION, CLEAN = 65, 78, 0
PLACE = Place("stream", "topic")
MESSAGES, MESSAGE_BYTES, BATCHES = 10, 20_000, 30
FILES = 3
CONSUMER = 7


def shard(node: Node) -> Path:
    """The directory of the first shard."""
    return node.data / "shards" / "00000001-00000000"


def journal(node: Node, number: int) -> Path:
    """A file of the first shard's journal."""
    return shard(node) / f"journal-{number:08}"


def files(node: Node) -> list[Path]:
    """Every file of the first shard's journal."""
    return sorted(shard(node).glob("journal-*"))


def written(node: Node) -> list[Path]:
    """Those files in which blocks were written."""
    return [file for file in files(node) if blocks(file.read_bytes())]


@contextmanager
def client_of(node: Node) -> Iterator[TopicClient]:
    """A client with a session."""
    with TopicClient(node.connect_registered()) as client:
        yield client


@dataclass
class Sent:
    """Each batch that was acknowledged, by its first offset."""

    batches: dict[int, bytes] = field(default_factory=dict)

    def send(self, client: TopicClient, count: int) -> list[int]:
        """Sends batches that nobody has sent before; returns the offsets that were given."""
        given = []
        for _ in range(count):
            identity = 1 + MESSAGES * len(self.batches)
            payload = [
                f"{identity + index} ".encode() * 2 + bytes(MESSAGE_BYTES) for index in range(MESSAGES)
            ]
            content = batch(payload, identity)
            reply = client.send(PLACE, 0, content, MESSAGES)
            while reply.status:
                reply = client.send(PLACE, 0, content, MESSAGES)
            base = base_offset(reply)
            assert base not in self.batches, f"offset {base} was given before"
            self.batches[base] = content
            given.append(base)
        return given


def polled(client: TopicClient) -> set[int]:
    """The offset of every message that can be polled."""
    found: set[int] = set()
    offset = 0
    while messages := client.poll(PLACE, 0, offset, 1_000, CONSUMER):
        found |= {message.offset for message in messages}
        offset = messages[-1].offset + 1
    return found


@pytest.fixture
def crashed(start_node: StartNode) -> tuple[Node, Sent]:
    """A server that was killed with acknowledged messages in several files of its journal."""
    node = start_node()
    sent = Sent()
    with client_of(node) as client:
        client.create_stream(PLACE.stream)
        client.create_topic(PLACE, 1, 1 << 30)
    # The metadata of a stopped server has the topic's name.
    assert node.terminate() == CLEAN
    node.restart()
    with client_of(node) as client:
        while len(written(node)) < FILES:
            sent.send(client, 1)
        assert client.store_offset(PLACE, 0, CONSUMER, max(sent.batches)).status == 0
        assert node.kill() == -signal.SIGKILL
    return node, sent


def refused(node: Node) -> str:
    """Starts a server that must refuse to over damage; what it says to who started it."""
    assert node.launch().wait() == DAMAGED, node.stdout()
    return node.stderr()


def recover(node: Node, *accepted: str) -> subprocess.CompletedProcess[str]:
    """Runs ``server-ng recover`` on the directory of a server."""
    options = [word for name in accepted for word in ("--accept", name)]
    command = [str(Path(sys.executable).with_name("server-ng")), "recover", str(node.data), *options]
    return subprocess.run(
        command, env=clean_environment(), capture_output=True, text=True, check=False, timeout=WAIT_MAX
    )


def accept_all(node: Node) -> str:
    """Accepts what `recover` names, with the command that it prints; returns what it said."""
    listed = recover(node)
    assert listed.returncode == DAMAGED, listed
    accepted = recover(node, *re.findall(r"--accept (\S+)", listed.stdout.splitlines()[-1]))
    assert (accepted.returncode, accepted.stderr) == (CLEAN, "")
    return listed.stdout


def live(node: Node, sent: Sent) -> None:
    """Two starts later no offset was given twice and no message was replaced."""
    for ends in (Node.kill, Node.terminate, Node.terminate):
        node.restart()
        with client_of(node) as client:
            sent.send(client, BATCHES)
            found = polled(client)
            assert found <= {base + index for base in sent.batches for index in range(MESSAGES)}
            assert ends(node) in (CLEAN, -signal.SIGKILL)


@pytest.mark.parametrize("number", range(FILES))
def test_a_missing_file_is_named_and_may_be_accepted(crashed: tuple[Node, Sent], number: int) -> None:
    node, sent = crashed
    missing = journal(node, number)
    kept = missing.read_bytes()
    missing.unlink()
    said = refused(node)
    assert missing.name in said
    assert f"server-ng recover {node.data}" in said
    assert not missing.exists(), "a refused start changes nothing"
    listed = accept_all(node)
    assert missing.name in listed
    assert f"{PLACE.stream}/{PLACE.topic}/0" in listed
    live(node, sent)
    # The file comes back, as it was in that earlier life: it is not read as part of this one.
    assert missing.exists()
    now = missing.read_bytes()
    missing.write_bytes(kept)
    if now != kept:
        assert missing.name in refused(node)
        missing.write_bytes(now)
    live(node, sent)


def test_a_file_that_is_put_back_brings_everything_back(crashed: tuple[Node, Sent]) -> None:
    node, sent = crashed
    away = node.folder / "away"
    shutil.move(journal(node, 1), away)
    refused(node)
    shutil.move(away, journal(node, 1))
    node.restart()
    with client_of(node) as client:
        assert polled(client) == {base + index for base in sent.batches for index in range(MESSAGES)}
        assert client.stored_offset(PLACE, 0, CONSUMER) == max(sent.batches)


def swap(node: Node) -> list[Path]:
    """Gives two files the names of each other."""
    one, other, away = journal(node, 1), journal(node, 2), node.folder / "away"
    shutil.move(one, away)
    shutil.move(other, one)
    shutil.move(away, other)
    return [one, other]


def duplicate(node: Node) -> list[Path]:
    """Puts a copy of one file in the place of another."""
    shutil.copyfile(journal(node, 1), journal(node, 2))
    return [journal(node, 2)]


def add(node: Node) -> list[Path]:
    """Puts a copy of a file beside all that count."""
    surplus = journal(node, len(files(node)))
    shutil.copyfile(journal(node, 1), surplus)
    return [surplus]


@pytest.mark.parametrize("change", [swap, duplicate, add])
def test_a_file_in_a_wrong_place_is_named_and_the_remedy_works(
    crashed: tuple[Node, Sent], change: Callable[[Node], list[Path]]
) -> None:
    node, sent = crashed
    kept = {file: file.read_bytes() for file in files(node)}
    wrong = change(node)
    before = {file: file.read_bytes() for file in files(node)}
    for said in (refused(node), recover(node).stderr):
        for file in wrong:
            assert file.name in said
        assert "move the wrong file away" in said
    assert {file: file.read_bytes() for file in files(node)} == before, "a refused start changes nothing"
    # The message says: its own content back, or away with it.
    for file in wrong:
        file.unlink()
    if change is add:
        node.restart()
        with client_of(node) as client:
            assert polled(client) == {base + index for base in sent.batches for index in range(MESSAGES)}
        node.kill()
        return
    said = refused(node)
    assert wrong[0].name in said
    accept_all(node)
    live(node, sent)
    for file in wrong:
        assert file.read_bytes() != kept[file]


@pytest.mark.parametrize("number", range(FILES))
def test_an_older_copy_of_a_file_is_named(start_node: StartNode, number: int) -> None:
    node, sent = start_node(), Sent()
    with client_of(node) as client:
        client.create_stream(PLACE.stream)
        client.create_topic(PLACE, 1, 1 << 30)
        while len(written(node)) < FILES:
            sent.send(client, 1)
        assert node.terminate() == CLEAN
    older = {file: file.read_bytes() for file in files(node)}
    node.restart()
    with client_of(node) as client:
        while journal(node, number).read_bytes() == older[journal(node, number)]:
            sent.send(client, 1)
        # A superblock of an orderly stop vouches for every block.
        assert node.terminate() == CLEAN
    kept = journal(node, number).read_bytes()
    journal(node, number).write_bytes(older[journal(node, number)])
    assert journal(node, number).name in refused(node)
    journal(node, number).write_bytes(kept)
    node.restart()
    with client_of(node) as client:
        assert polled(client) == {base + index for base in sent.batches for index in range(MESSAGES)}


def test_an_older_superblock_is_named(crashed: tuple[Node, Sent]) -> None:
    node, sent = crashed
    superblock = shard(node) / "superblock"
    older = superblock.read_bytes()
    node.restart()
    with client_of(node) as client:
        sent.send(client, 1)
        assert node.kill() == -signal.SIGKILL
    newer = superblock.read_bytes()
    superblock.write_bytes(older)
    said = refused(node)
    assert f"{superblock} is older" in said or "manifest" in said
    superblock.write_bytes(newer)
    node.restart()
    with client_of(node) as client:
        assert polled(client) == {base + index for base in sent.batches for index in range(MESSAGES)}


def test_a_growth_that_was_cut_is_no_damage(crashed: tuple[Node, Sent]) -> None:
    node, sent = crashed
    journal(node, len(files(node))).write_bytes(bytes(PAGE))
    node.restart()
    with client_of(node) as client:
        sent.send(client, BATCHES)
        assert polled(client) == {base + index for base in sent.batches for index in range(MESSAGES)}
    assert node.terminate() == CLEAN


def test_a_directory_of_an_earlier_build_is_refused_and_left_as_it_was(make_node: StartNode) -> None:
    node = make_node()
    node.data.mkdir()
    (node.data / "LAYOUT").write_bytes(golden_file("earlier/layout-1"))
    for said in (refused_as_configured(node), recover(node).stderr):
        assert "1, which an earlier build wrote, and this build reads version 2" in said
        assert "start the build that wrote it" in said
        assert said.count("\n") == 1, "one sentence"
    assert [path.name for path in node.data.iterdir()] == ["LAYOUT"]
    assert (node.data / "LAYOUT").read_bytes() == golden_file("earlier/layout-1")


def refused_as_configured(node: Node) -> str:
    """Starts a server that must refuse its directory; what it says to who started it."""
    assert node.launch().wait() == CONFIGURATION, node.stdout()
    return node.stderr()


SHARDS, PARTITIONS = 4, 16
MANY = {"system.sharding.cpu_allocation": str(SHARDS), "system.sharding.pin_cores": "false"}


@pytest.mark.parametrize("fewer", ["1", "auto"])
def test_the_records_of_four_shards_fit_fewer_after_a_crash(start_node: StartNode, fewer: str) -> None:
    node = start_node(settings=MANY)
    content = batch([bytes(MESSAGE_BYTES)] * MESSAGES)
    acknowledged = dict.fromkeys(range(PARTITIONS), 0)
    with client_of(node) as client:
        client.create_stream(PLACE.stream)
        client.create_topic(PLACE, PARTITIONS, 1 << 30)
        for number in list(range(PARTITIONS)) * 5:
            reply = client.send(PLACE, number, content, MESSAGES)
            acknowledged[number] += MESSAGES if reply.status == 0 else 0
        assert node.kill() == -signal.SIGKILL
    # With `auto` one CPU is less than half of what four shards were made for.
    node.restart({"system.sharding.cpu_allocation": fewer}, under=("taskset", "--cpu-list", "0"))
    assert layout((node.data / "LAYOUT").read_bytes())[2:4] == (2, 1)
    with client_of(node) as client:
        for number, messages in acknowledged.items():
            assert messages > 0
            assert client.figures(PLACE).partitions[number].messages == messages
            reply = client.send(PLACE, number, content, MESSAGES)
            while reply.status:
                reply = client.send(PLACE, number, content, MESSAGES)
            assert base_offset(reply) >= messages
    assert node.terminate() == CLEAN
