"""The control plane behind the engine: committed operations are applied, and partitions follow them."""

import asyncio
from collections.abc import Callable
from logging import DEBUG

import structlog

from server_ng.bootstrap.auditing import Audit
from server_ng.bootstrap.errors import StartError
from server_ng.bootstrap.figures import partition_samples
from server_ng.bootstrap.metadata_events import change_of
from server_ng.engine.errors import MalformedRecordError
from server_ng.engine.records import (
    Applied,
    Apply,
    CaughtUp,
    ControlRecord,
    Observed,
    Reconciled,
    Rows,
    encode_applied,
)
from server_ng.leases.errors import LeaseRefusedError, Refusal
from server_ng.leases.service import Place
from server_ng.leases.service import Topic as LeasedTopic
from server_ng.metadata.deltas import encode_deltas
from server_ng.metadata.machine import Metadata
from server_ng.metadata.ops import SUCCESS, Op, Outcome
from server_ng.metadata.rows import BadRowsError
from server_ng.metadata.state import FIRST_USER, State
from server_ng.observe.catalogue import sample
from server_ng.observe.metrics import Sample
from server_ng.reconciler.placement import owner
from server_ng.reconciler.task import Reconciler
from server_ng.wire.tables import ExitStatus, Operation, ReplyKind

__all__ = ["ControlPlane"]

_log = structlog.get_logger()


class ControlPlane:
    """Takes the engine's records about metadata and partitions, one by one, and answers each at once."""

    def __init__(
        self, shards: int, send: Callable[[bytes], None], loop: asyncio.AbstractEventLoop, audit: Audit
    ) -> None:
        self.converged: asyncio.Future[None] = loop.create_future()
        """Done when what was found at the start is as the metadata says."""
        self.has_users = asyncio.Event()
        """Set as soon as there is a user."""
        self.root_password_changed = asyncio.Event()
        """Set as soon as a change of root's password was applied in this run."""
        self._shards = shards
        self._send = send
        self._audit = audit
        self._metadata = Metadata()
        self._caught_up = False
        self._unreadable = False
        self._faults = 0
        self._reconciler = Reconciler(shards, send, loop, lambda: self.converged.set_result(None))

    def take(self, record: ControlRecord) -> None:
        """Does what follows from one record; raises `StartError` for rows that cannot be read."""
        if self._unreadable:
            # An answer to an operation would be its outcome for good, and would be decided without the rows.
            return
        match record:
            case Apply():
                self._apply(record)
            case Reconciled(shard):
                self._check(shard)
                self._reconciler.answer(record)
            case Rows():
                self._load(record)
            case CaughtUp():
                self._caught_up = True
                self._reconciler.load(self._metadata.state)
            case Observed(shard):
                self._check(shard)
                self._reconciler.observe(record)

    def owner(self, group: int) -> int:
        """The shard that has the log of a partition."""
        return owner(group, self._shards)

    @property
    def state(self) -> State:
        """Streams, topics and users as they are now."""
        return self._metadata.state

    def find_topic(self, stream: str | int, topic: str | int) -> LeasedTopic:
        """A topic as jobs name it; raises `LeaseRefusedError`."""
        found = self._metadata.state.find(stream)
        if found is None:
            raise LeaseRefusedError(Refusal.UNKNOWN_STREAM, f"There is no stream {stream!r}.")
        within = found.find(topic)
        if within is None:
            message = f"The stream {found.row.name!r} has no topic {topic!r}."
            raise LeaseRefusedError(Refusal.UNKNOWN_TOPIC, message)
        places = [Place(partition, row.group) for partition, row in enumerate(within.partitions)]
        return LeasedTopic(found.row.name, within.row.name, places)

    def close(self) -> None:
        """Asks nothing more of the shards."""
        self._reconciler.close()

    def samples(self) -> list[Sample]:
        """The figures of metadata and partitions."""
        return [sample("apply_faults_total", self._faults), *partition_samples(self._reconciler)]

    def _check(self, shard: int) -> None:
        if shard >= self._shards:
            raise MalformedRecordError(f"a record about shard {shard} of {self._shards}")

    def _load(self, record: Rows) -> None:
        try:
            self._metadata.load(record.deltas, record.last)
        except BadRowsError as error:
            self._unreadable = True
            raise StartError(
                f"The stored streams, topics and users after operation {record.op} cannot be read: {error}. "
                "A newer version may have written them: start that one. If not, restore the data directory "
                "from a copy that was made with the server stopped, and report this sentence.",
                ExitStatus.DAMAGED_DATA,
            ) from error
        self._look_for_users()
        if record.last and self._caught_up:
            self._reconciler.load(self._metadata.state)

    def _apply(self, record: Apply) -> None:
        op = Op(record.op, record.timestamp, record.client, record.operation, record.user_id, record.body)
        wanted = self._audit.is_on or _log.is_enabled_for(DEBUG)
        change = change_of(self._metadata.state, op) if wanted else None
        outcome = self._metadata.apply(op)
        if change is not None:
            self._audit.operation(op, change, outcome)
            if outcome.result == SUCCESS:
                _log.debug(change.event, **change.fields, op=op.number, user_id=op.user_id)
        if outcome.fault is not None:
            self._faults += 1
            # Not the body: it may hold a secret.
            _log.error(
                "apply_failed",
                op=op.number,
                operation=op.operation,
                user_id=op.user_id,
                reason=repr(outcome.fault),
                exc_info=outcome.fault,
            )
        # Before whatever the change of the partitions makes the reconciler say.
        self._send(encode_applied(_answer(op.number, outcome)))
        if outcome.deltas:
            self._look_for_users()
            if op.operation == Operation.CHANGE_PASSWORD and outcome.user == FIRST_USER:
                self.root_password_changed.set()
            self._reconciler.change(self._metadata.take_touched())

    def _look_for_users(self) -> None:
        if self._metadata.state.users:
            self.has_users.set()


def _answer(number: int, outcome: Outcome) -> Applied:
    return Applied(
        op=number,
        result=outcome.result,
        reply=outcome.reply,
        stream=outcome.user if outcome.reply == ReplyKind.USER else outcome.stream,
        topic=outcome.topic,
        revision=outcome.revision,
        deltas=encode_deltas(outcome.deltas),
    )
