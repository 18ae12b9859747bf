"""What an op comes to on a state. Nothing here writes: `fold` does, with the deltas of the outcome."""

from collections.abc import Callable
from typing import Final

from server_ng.metadata.ops import Op, Outcome
from server_ng.metadata.partitions import create_partitions, delete_partitions
from server_ng.metadata.state import State
from server_ng.metadata.streams import create_stream, delete_stream, purge_stream, update_stream
from server_ng.metadata.topics import create_topic, delete_topic, purge_topic, update_topic
from server_ng.metadata.users import (
    create_root,
    create_user,
    delete_user,
    replace_hash,
    update_permissions,
    update_user,
)
from server_ng.wire.refusals import RefusedError
from server_ng.wire.tables import ErrorCode, Operation

__all__ = ["NOT_OF_THE_OP", "apply", "decide"]

NOT_OF_THE_OP: Final = (MemoryError, RecursionError)
"""Exhausted memory or stack ends the process: another replica might have more, and decide otherwise."""

_SERVED: Final[dict[int, Callable[[State, Op], Outcome]]] = {
    Operation.CREATE_ROOT: create_root,
    Operation.CREATE_STREAM: create_stream,
    Operation.UPDATE_STREAM: update_stream,
    Operation.DELETE_STREAM: delete_stream,
    Operation.PURGE_STREAM: purge_stream,
    Operation.CREATE_TOPIC: create_topic,
    Operation.UPDATE_TOPIC: update_topic,
    Operation.DELETE_TOPIC: delete_topic,
    Operation.PURGE_TOPIC: purge_topic,
    Operation.CREATE_PARTITIONS: create_partitions,
    Operation.DELETE_PARTITIONS: delete_partitions,
    Operation.CREATE_USER: create_user,
    Operation.UPDATE_USER: update_user,
    Operation.DELETE_USER: delete_user,
    Operation.CHANGE_PASSWORD: replace_hash,
    Operation.UPDATE_PERMISSIONS: update_permissions,
}


def apply(state: State, op: Op) -> Outcome:
    """What the op comes to."""
    serve = _SERVED.get(op.operation)
    if serve is None:
        return Outcome(ErrorCode.FEATURE_UNAVAILABLE)
    try:
        return serve(state, op)
    except RefusedError as refusal:
        return Outcome(refusal.code)


def decide(state: State, op: Op) -> Outcome:
    """What the op comes to, a bug included: that is the same error on every replica."""
    try:
        return apply(state, op)
    except NOT_OF_THE_OP:
        raise
    except Exception as fault:
        return Outcome(ErrorCode.ERROR, fault=fault)
