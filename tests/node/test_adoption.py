"""Segments that a job compacted and a server adopts: what is refused, under load, and over kills."""

import os
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from server_ng.segments.lease import Lease
from server_ng.segments.verify import verify
from server_ng.wire.tables import ErrorCode
from tests.support.batches import batch
from tests.support.compaction import Offer, compact, sealed
from tests.support.control import Control
from tests.support.fixtures import BACKENDS, LONG, StartNode
from tests.support.node import Node
from tests.support.topic_client import Message, Place, TopicClient
from tests.support.waiting import until

PLACE: Final = Place("compacted", "keys")
SHARDS: Final = {"system.sharding.cpu_allocation": "2", "system.sharding.pin_cores": "false"}
PARTITION: Final = 1
BATCH: Final = 8
BUSY: Final = ErrorCode.TRANSIENT_NOT_ACCEPTED
KILLS: Final = 60 if LONG else 8
SEED: Final = int(os.environ.get("NG_SEED", "1"))


def topic_client(node: Node) -> TopicClient:
    """A client's connection."""
    return TopicClient(node.connect_registered())


def fill(client: TopicClient, batches: int, size: int = 8_000) -> None:
    """Sends batches of eight messages."""
    for number in range(batches):
        content = batch([b"x" * size] * BATCH, number * BATCH + 1)
        # While the second file of the journal is still being made, the first may have no room.
        while (reply := client.send(PLACE, PARTITION, content, BATCH)).status == BUSY:
            pass
        assert reply.status == 0, reply


def polled(client: TopicClient) -> list[Message]:
    """All messages, in polls of some."""
    found: list[Message] = []
    while messages := client.poll(PLACE, PARTITION, found[-1].offset + 1 if found else 0, 50, 1):
        found += messages
    return found


def keeps(offset: int) -> bool:
    """Every third message survives, and nothing of every fifth batch."""
    return offset % 3 == 0 and offset // BATCH % 5 != 1


def survivors(messages: list[Message], offered: Offer) -> list[Message]:
    """What an adoption leaves."""
    return [each for each in messages if each.offset >= offered.end or keeps(each.offset)]


def cut(node: Node) -> Path:
    """A lease of the partition."""
    with Control(node.endpoints["control"]) as job:
        return job.cut(PLACE.stream, PLACE.topic, partitions=[PARTITION])


def adopt(node: Node, fields: dict[str, Any]) -> dict[str, Any]:
    """What the server says."""
    with Control(node.endpoints["control"]) as job:
        return job.ask("adopt", **fields)


@pytest.fixture
def node(start_node: StartNode, request: pytest.FixtureRequest) -> Node:
    """A server of two shards with segments of 1 MiB in a partition."""
    node = start_node(settings={**SHARDS, "system.io.backend": getattr(request, "param", "auto")})
    with topic_client(node) as client:
        client.create_stream(PLACE.stream)
        client.create_topic(PLACE, 2, 1 << 20)
        fill(client, 40)
    return node


@pytest.fixture
def client(node: Node) -> Iterator[TopicClient]:
    """A client of the server."""
    with topic_client(node) as connected:
        yield connected


def left_over(node: Node) -> list[str]:
    """Segments in the data directory, by name."""
    return sorted(path.name for path in (node.data / "groups").rglob("*.log"))


@pytest.mark.parametrize("node", BACKENDS, indirect=True)
def test_what_is_adopted_is_what_is_polled_and_what_the_next_lease_holds(
    node: Node, client: TopicClient
) -> None:
    before = polled(client)
    path = cut(node)
    offered = compact(path, PARTITION, keeps)
    assert adopt(node, offered.fields) == {"ok": True, "partition": PARTITION, "generation": 1}
    after = polled(client)
    assert after == survivors(before, offered)
    second = cut(node)
    (held,) = Lease.read(second).partitions
    assert [segment.generation for segment in held.segments] == [1, 0]
    assert held.segments[0].last_offset == offered.end - 1
    assert [verify(second, segment, PARTITION).messages for segment in held.segments] == [
        segment.messages for segment in held.segments
    ]
    (first,) = Lease.read(path).partitions
    assert all(verify(path, segment, PARTITION).messages for segment in first.segments), "leases keep theirs"
    figures = client.figures(PLACE).partitions[PARTITION]
    assert (figures.messages, figures.last_offset) == (len(after), before[-1].offset)


def _without(fields: dict[str, Any]) -> None:
    del fields["inputs"][0]


def _twice(fields: dict[str, Any]) -> None:
    fields["outputs"].append(fields["outputs"][0])


def _set(key: str, value: object) -> Callable[[dict[str, Any]], None]:
    def change(fields: dict[str, Any]) -> None:
        fields["outputs"][0][key] = value

    return change


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda fields: fields.update(lease="none"), "unknown_lease"),
        (lambda fields: fields.update(partition=0), "unknown_partition"),
        (lambda fields: fields.update(inputs=[]), "bad_request"),
        (lambda fields: fields.update(outputs="all"), "bad_request"),
        (lambda fields: fields.update(colour="red"), "bad_request"),
        (lambda fields: fields["inputs"][0].update(generation=1), "bad_request"),
        (lambda fields: fields["inputs"].reverse(), "bad_request"),
        (_without, "bad_output"),
        (_twice, "bad_output"),
        (_set("path", "../../../LOCK"), "bad_output"),
        (_set("path", "outputs/1/../1/00000000000000000000.1.log"), "bad_output"),
        (_set("generation", 0), "bad_output"),
        (_set("messages", 0), "bad_output"),
        (_set("messages", 5), "bad_output"),
        (_set("bytes", 4096), "bad_output"),
        (_set("last_offset", 3), "bad_output"),
        (_set("min_timestamp", 0), "bad_output"),
        (_set("digest", "0" * 32), "bad_output"),
        (_set("digest", "z" * 32), "bad_request"),
        (_set("bytes", True), "bad_request"),
    ],
)
def test_what_cannot_be_adopted_is_refused(
    node: Node, client: TopicClient, change: Callable[[dict[str, Any]], None], error: str
) -> None:
    offered = compact(cut(node), PARTITION, keeps)
    fields = deepcopy(offered.fields)
    change(fields)
    answer = adopt(node, fields)
    assert (answer["ok"], answer["error"]) == (False, error), answer
    assert answer["message"].endswith("."), answer
    before = left_over(node)
    assert all(name.count(".") == 1 for name in before), "nothing has changed"
    assert adopt(node, offered.fields)["ok"], "and the right one is taken"
    assert len(polled(client)) < 320


def _rot(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _shorten(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 4096)


def _link_directory(path: Path) -> None:
    path.parent.rename(path.parents[1] / "elsewhere")
    path.parent.symlink_to("elsewhere")


@pytest.mark.parametrize("spoil", [_rot, _link, _pipe, _shorten, _link_directory, Path.unlink])
def test_a_file_that_is_not_what_it_says_is_refused(
    node: Node, client: TopicClient, spoil: Callable[[Path], None]
) -> None:
    path = cut(node)
    before = polled(client)
    offered = compact(path, PARTITION, keeps)
    spoil(path / offered.outputs[0]["path"])
    answer = adopt(node, offered.fields)
    assert (answer["ok"], answer["error"]) == (False, "bad_output"), answer
    assert polled(client) == before


def test_messages_that_were_never_sent_are_refused(node: Node, client: TopicClient) -> None:
    path = cut(node)
    client.purge_topic(PLACE)
    fill(client, 40, 7_000)
    other = cut(node)
    # Well-formed in itself, and of another purge generation: every message is another one.
    foreign = compact(other, PARTITION, keeps)
    name = foreign.outputs[0]["path"]
    (path / name).parent.mkdir(parents=True)
    (path / name).write_bytes((other / name).read_bytes())
    inputs = [segment for segment in sealed(path, PARTITION) if segment.last_offset < foreign.end]
    fields = {**foreign.fields, "lease": path.name}
    fields["inputs"] = [{"first_offset": each.first_offset, "generation": 0} for each in inputs]
    answer = adopt(node, fields)
    assert (answer["ok"], answer["error"]) == (False, "bad_output"), answer


def test_what_was_purged_deleted_or_replaced_is_fenced(node: Node, client: TopicClient) -> None:
    offered = compact(cut(node), PARTITION, keeps)
    second = compact(cut(node), PARTITION, lambda offset: offset % 2 == 0)
    assert adopt(node, offered.fields)["ok"]
    assert adopt(node, second.fields)["error"] == "fenced", "two jobs on one range"
    third = compact(cut(node), PARTITION, lambda offset: offset % 6 == 0)
    client.purge_topic(PLACE)
    assert adopt(node, third.fields)["error"] == "fenced"
    assert polled(client) == []
    fill(client, 40)
    fourth = compact(cut(node), PARTITION, keeps)
    client.delete_topic(PLACE)
    assert adopt(node, fourth.fields)["error"] == "fenced"
    until(lambda: left_over(node) == [], "nothing is left of the topic")


def test_readers_and_producers_do_not_notice(node: Node) -> None:
    stop = threading.Event()

    def produce() -> int:
        with topic_client(node) as client:
            while not stop.is_set():
                fill(client, 1)
            return client.figures(PLACE).partitions[PARTITION].last_offset

    def read(adopted: list[Offer]) -> int:
        rounds = 0
        with topic_client(node) as client:
            while not stop.is_set() or rounds == 0:
                end = adopted[-1].end if adopted else 0
                offsets = {message.offset for message in polled(client)}
                assert not [offset for offset in offsets if offset < end and not keeps(offset)]
                assert offsets >= {offset for offset in range(max(offsets) + 1) if keeps(offset)}
                rounds += 1
        return rounds

    adopted: list[Offer] = []
    with ThreadPoolExecutor(3) as pool:
        producer = pool.submit(produce)
        readers = [pool.submit(read, adopted) for _ in range(2)]
        try:
            for _ in range(6):
                offered = compact(cut(node), PARTITION, keeps)
                assert adopt(node, offered.fields)["ok"]
                adopted.append(offered)
        finally:
            stop.set()
        assert producer.result() > adopted[-1].end
        assert all(reader.result() for reader in readers)
    generations = [each.outputs[0]["generation"] for each in adopted]
    assert generations == [*range(1, 7)]


def test_a_kill_at_any_moment_leaves_the_old_segments_or_the_new_ones(node: Node) -> None:
    dice = random.Random(SEED)
    with topic_client(node) as client:
        before = polled(client)
    new = 0
    for _ in range(KILLS):
        kept = dice.randrange(2, 5)
        chosen = partial(_is_chosen, kept)
        offered = compact(cut(node), PARTITION, chosen)
        told = _killed_within(node, offered, dice.randrange(5))
        node.restart()
        left = [each for each in before if each.offset >= offered.end or chosen(each.offset)]
        with topic_client(node) as client:
            before = _one_of(client, before, left)
        assert before == left or not told
        new += before == left
        _check_files(node)
    assert new, "no adoption was committed"


def _is_chosen(kept: int, offset: int) -> bool:
    return offset % kept != 0 or offset < BATCH


def _killed_within(node: Node, offered: Offer, changes: int) -> bool:
    """Kills a server once so many changes of its files were seen; whether it had said that it adopted."""

    def ask() -> bool:
        try:
            return bool(adopt(node, offered.fields).get("ok"))
        except (OSError, ValueError):
            return False

    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ask)
        for _ in range(changes):
            until(partial(_has_changed, node, left_over(node), asking), "files change")
        node.kill()
        return asking.result()


def _has_changed(node: Node, names: list[str], asking: Future[bool]) -> bool:
    return asking.done() or left_over(node) != names


def _one_of(client: TopicClient, *states: list[Message]) -> list[Message]:
    """What is polled, once it is one of these: a swap of the life before may be on its way still."""
    found: list[list[Message]] = []

    def is_one() -> bool:
        found.append(polled(client))
        return found[-1] in states

    until(is_one, "all old, or all new")
    return found[-1]


def _check_files(node: Node) -> None:
    """Every file in the directory is one that counts: a lease holds them all."""
    path = cut(node)
    (held,) = Lease.read(path).partitions
    names = sorted(segment.path.rpartition("/")[2] for segment in held.segments)
    until(lambda: left_over(node) == names, f"only {names} are left")
    with Control(node.endpoints["control"]) as job:
        for lease in job.ask("leases")["leases"]:
            assert job.ask("release", lease=lease["lease"])["ok"]
