"""A client that changes a server and enters every acknowledgement into a ledger."""

import random
import struct
import time
from collections.abc import Callable
from typing import Final, TypeAlias

from tests.support.batches import batch
from tests.support.damage.ledger import Ledger, PartitionKey, PartitionLedger
from tests.support.frames import Reply
from tests.support.topic_client import Place, TopicClient, base_offset, messages_in
from tests.support.waiting import WAIT_MAX

__all__ = ["History", "Keeps", "RefusedSendError", "send_messages"]

Keeps: TypeAlias = Callable[[int], bool]
"""Whether the message of an offset is retained."""

_BUSY: Final = 58
_PAUSE_SECONDS: Final = 0.001
_DELETE_SEGMENTS: Final = 503


class History:
    """Requests of one connection; what they acknowledge is in the ledger."""

    def __init__(self, client: TopicClient, ledger: Ledger, dice: random.Random) -> None:
        self._client, self._ledger, self._dice = client, ledger, dice

    def create_stream(self, name: str) -> None:
        """Makes a stream."""
        self._client.create_stream(name)

    def create_topic(self, place: Place, partitions: int) -> None:
        """Makes a topic whose segments are as small as a server allows."""
        self._client.create_topic(place, partitions, 1 << 20)
        for number in range(partitions):
            self._ledger.partitions[PartitionKey(place.stream, place.topic, number)] = PartitionLedger()

    def delete_topic(self, place: Place) -> None:
        """Deletes a topic."""
        self._client.delete_topic(place)
        for key in [key for key in self._ledger.partitions if key.place == place]:
            del self._ledger.partitions[key]

    def purge_topic(self, place: Place) -> None:
        """Deletes the messages of a topic; their offsets may be given again."""
        self._client.purge_topic(place)
        for key in [key for key in self._ledger.partitions if key.place == place]:
            self._ledger.partitions[key] = PartitionLedger()

    def delete_segments(self, key: PartitionKey, count: int) -> None:
        """Deletes the oldest sealed segments, and enters which messages are left."""
        body = key.place.identifiers + struct.pack("<II", key.number, count)
        reply = self._client.ask(_DELETE_SEGMENTS, body)
        assert reply.status == 0, reply
        (first, *_) = self._client.poll(key.place, key.number, 0, 1, 1)
        self.keep(key, lambda offset: offset >= first.offset)

    def keep(self, key: PartitionKey, keeps: Keeps) -> None:
        """Enters that messages were deleted on purpose; their offsets stay given."""
        partition = self._ledger.partitions[key]
        partition.messages = {
            offset: digest for offset, digest in partition.messages.items() if keeps(offset)
        }

    def send(self, key: PartitionKey, size: int, count: int) -> None:
        """Sends a batch of messages of a size."""
        base, digests = send_messages(self._client, key, [self._dice.randbytes(size) for _ in range(count)])
        self._ledger.partitions[key].acknowledge(base, digests)

    def fill(self, key: PartitionKey, size: int) -> None:
        """Sends about so many bytes in batches of a quarter of a segment."""
        for _ in range(-(-size // (1 << 18))):
            self.send(key, (1 << 18) // 8 - 64, 8)

    def store_offset(self, key: PartitionKey, consumer: int, offset: int) -> None:
        """Stores an offset of a consumer."""
        reply = self._client.store_offset(key.place, key.number, consumer, offset)
        assert (reply.status, reply.rejection) == (0, 0), reply
        self._ledger.partitions[key].stored[consumer] = offset


def send_messages(
    client: TopicClient, key: PartitionKey, payloads: list[bytes]
) -> tuple[int, tuple[int, ...]]:
    """Sends a batch until it is acknowledged: its first offset, and a digest of each message."""
    content = batch(payloads, time.time_ns() << 16)
    digests = tuple(message.digest for message in messages_in(memoryview(content)))
    deadline = time.monotonic() + WAIT_MAX
    while (reply := client.send(key.place, key.number, content, len(payloads))).status == _BUSY:
        if time.monotonic() > deadline:
            break
        time.sleep(_PAUSE_SECONDS)
    if reply.status != 0:
        raise RefusedSendError(reply)
    return base_offset(reply), digests


class RefusedSendError(Exception):
    """The server answered a send with an error."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(f"status {reply.status}")
        self.status = reply.status
