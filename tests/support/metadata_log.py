"""A metadata log that is written request by request, and applied as it is written."""

from hashlib import blake2b
from typing import TypeAlias

from server_ng.metadata.deltas import encode_deltas
from server_ng.metadata.machine import Metadata
from server_ng.metadata.ops import Op, Outcome
from server_ng.metadata.state import State
from server_ng.wire.requests import (
    CreatePartitions,
    CreateStream,
    CreateTopic,
    DeletePartitions,
    DeleteSegments,
    DeleteStream,
    DeleteTopic,
    PurgeStream,
    PurgeTopic,
    UpdateStream,
    UpdateTopic,
)
from server_ng.wire.tables import Operation
from server_ng.wire.user_requests import (
    AddUser,
    CreateRoot,
    DeleteUser,
    ReplaceHash,
    UpdatePermissions,
    UpdateUser,
)

__all__ = ["FIRST_TIMESTAMP", "OPERATIONS", "MetadataLog", "Request", "rows_digest"]

Request: TypeAlias = (
    CreateRoot
    | AddUser
    | UpdateUser
    | DeleteUser
    | UpdatePermissions
    | ReplaceHash
    | CreateStream
    | UpdateStream
    | DeleteStream
    | PurgeStream
    | CreateTopic
    | UpdateTopic
    | DeleteTopic
    | PurgeTopic
    | CreatePartitions
    | DeletePartitions
    | DeleteSegments
)

OPERATIONS: dict[type[Request], Operation] = {
    CreateRoot: Operation.CREATE_ROOT,
    AddUser: Operation.CREATE_USER,
    UpdateUser: Operation.UPDATE_USER,
    DeleteUser: Operation.DELETE_USER,
    UpdatePermissions: Operation.UPDATE_PERMISSIONS,
    ReplaceHash: Operation.CHANGE_PASSWORD,
    CreateStream: Operation.CREATE_STREAM,
    UpdateStream: Operation.UPDATE_STREAM,
    DeleteStream: Operation.DELETE_STREAM,
    PurgeStream: Operation.PURGE_STREAM,
    CreateTopic: Operation.CREATE_TOPIC,
    UpdateTopic: Operation.UPDATE_TOPIC,
    DeleteTopic: Operation.DELETE_TOPIC,
    PurgeTopic: Operation.PURGE_TOPIC,
    CreatePartitions: Operation.CREATE_PARTITIONS,
    DeletePartitions: Operation.DELETE_PARTITIONS,
    DeleteSegments: Operation.DELETE_SEGMENTS,
}

FIRST_TIMESTAMP = 1_700_000_000_000_000


class MetadataLog:
    """The ops so far, and the machine that applied them."""

    def __init__(self) -> None:
        self.machine = Metadata()
        self.ops: list[Op] = []

    def op(self, request: Request, user_id: int = 0) -> Op:
        """The op that this request would be, were it the next one."""
        return self._op(OPERATIONS[type(request)], request.encode(), user_id)

    def do(self, request: Request, user_id: int = 0) -> Outcome:
        """Appends a request and applies it."""
        return self._append(self.op(request, user_id))

    def do_bytes(self, operation: int, body: bytes) -> Outcome:
        """Appends an operation with any body and applies it."""
        return self._append(self._op(operation, body, user_id=0))

    def _op(self, operation: int, body: bytes, user_id: int) -> Op:
        number = len(self.ops) + 1
        return Op(number, FIRST_TIMESTAMP + number, client=7, operation=operation, user_id=user_id, body=body)

    def _append(self, op: Op) -> Outcome:
        self.ops.append(op)
        return self.machine.apply(op)


def rows_digest(state: State) -> str:
    """Equal for states of equal rows, and for no others."""
    return blake2b(encode_deltas(state.rows())).hexdigest()
