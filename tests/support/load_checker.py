"""Reads all that a topic holds and holds it against what clients were told."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tests.support.batches import BATCH_HEADER_BYTES
from tests.support.load_record import Batch, BrokenPromiseError, LoadRecord
from tests.support.topic_client import Message, Place, TopicClient

__all__ = ["check"]

_POLL_MESSAGES_MAX = 10_000
_CONSUMER = 1_000
_COMPLAINTS_MAX = 20


def check(client: TopicClient, place: Place, record: LoadRecord) -> None:
    """Raises what is wrong; else what was found is what must be found from now on."""
    figures = client.figures(place)
    found = [_everything(client, place, partition) for partition in range(len(figures.partitions))]
    complaints = [
        f"partition {partition}: {complaint}"
        for partition, messages in enumerate(found)
        for complaint in _complaints(messages, record.known[partition], record.unanswered[partition])
    ]
    complaints += _wrong_figures(client, place, found)
    complaints += _wrong_offsets(client, place, record, found)
    if complaints:
        rest = len(complaints) - _COMPLAINTS_MAX
        raise BrokenPromiseError("\n".join(complaints[:_COMPLAINTS_MAX] + [f"and {rest} more"] * (rest > 0)))
    for partition, messages in enumerate(found):
        record.known[partition] = {message.offset: message.digest for message in messages}
    record.unanswered.clear()


def _everything(client: TopicClient, place: Place, partition: int) -> list[Message]:
    found: list[Message] = []
    while part := client.poll(
        place, partition, found[-1].offset + 1 if found else 0, _POLL_MESSAGES_MAX, _CONSUMER
    ):
        found += part
    return found


def _complaints(
    found: Sequence[Message], known: dict[int, int], unanswered: Sequence[Batch]
) -> Iterator[str]:
    for before, after in pairwise(found):
        if after.offset <= before.offset:
            yield f"offset {after.offset} comes behind {before.offset}"
        if after.timestamp < before.timestamp:
            yield f"time goes back at offset {after.offset}"
    place = {message.digest: message.offset for message in found}
    digests = {message.offset: message.digest for message in found}
    for offset, digest in known.items():
        if digests.get(offset) == digest:
            continue
        if digest in place:
            yield f"the message of offset {offset} is now at {place[digest]}"
        elif offset in digests:
            yield f"offset {offset} is now another message"
        else:
            yield f"the message of offset {offset} is lost"
    yield from _strangers([message for message in found if message.offset not in known], unanswered)


def _strangers(found: Sequence[Message], unanswered: Sequence[Batch]) -> Iterator[str]:
    """What is there and nobody was told of must be whole batches whose answers are outstanding, each once."""
    possible = {batch.digests[0]: batch.digests for batch in unanswered}
    at = 0
    while at < len(found):
        batch = possible.pop(found[at].digest, ())
        there = found[at : at + len(batch)]
        if not batch:
            yield f"nobody waits for the message of offset {found[at].offset}"
        elif [(message.offset, message.digest) for message in there] != list(
            enumerate(batch, start=found[at].offset)
        ):
            yield f"the batch of offset {found[at].offset} is not as it was sent"
        at += max(1, len(batch))


def _wrong_figures(client: TopicClient, place: Place, found: Sequence[Sequence[Message]]) -> Iterator[str]:
    figures = client.figures(place)
    sizes = []
    for partition, (said, messages) in enumerate(zip(figures.partitions, found, strict=True)):
        batches = {message.base for message in messages}
        sizes.append(len(batches) * BATCH_HEADER_BYTES + sum(message.size for message in messages))
        expected = (len(messages), messages[-1].offset if messages else 0, sizes[-1])
        if (said.messages, said.last_offset, said.size) != expected:
            yield f"partition {partition}: get topic says {said}, there is {expected}"
    expected_sums = (sum(map(len, found)), sum(sizes))
    if (figures.messages, figures.size) != expected_sums:
        yield f"get topic says {figures.messages, figures.size} of the topic, there is {expected_sums}"


def _wrong_offsets(
    client: TopicClient, place: Place, record: LoadRecord, found: Sequence[Sequence[Message]]
) -> Iterator[str]:
    for key in record.stored.keys() | record.storing.keys():
        offset = client.stored_offset(place, key.partition, key.consumer)
        possible = {record.stored.get(key), record.storing.get(key, record.stored.get(key))}
        if offset not in possible:
            yield f"{key}: {offset} is stored and not one of {possible}"
        elif offset is not None:
            record.stored[key] = offset
    record.storing.clear()
    for key in record.following:
        offset = client.stored_offset(place, key.partition, key.consumer)
        messages = found[key.partition]
        if offset is not None and (not messages or offset > messages[-1].offset):
            yield f"{key}: the offset {offset} is ahead of the log"
