"""Committed operations by name: what each does, and to which stream, topic, partitions or user."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from server_ng.metadata.ops import Op
from server_ng.metadata.state import State
from server_ng.wire.identifiers import Identifier
from server_ng.wire.refusals import RefusedError
from server_ng.wire.requests import (
    CreatePartitions,
    CreateStream,
    CreateTopic,
    DeletePartitions,
    DeleteStream,
    DeleteTopic,
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

__all__ = ["Change", "change_of"]

_EVENTS: Final[Mapping[int, str]] = {
    Operation.CREATE_STREAM: "stream_created",
    Operation.UPDATE_STREAM: "stream_updated",
    Operation.DELETE_STREAM: "stream_deleted",
    Operation.PURGE_STREAM: "stream_purged",
    Operation.CREATE_TOPIC: "topic_created",
    Operation.UPDATE_TOPIC: "topic_updated",
    Operation.DELETE_TOPIC: "topic_deleted",
    Operation.PURGE_TOPIC: "topic_purged",
    Operation.CREATE_PARTITIONS: "partitions_created",
    Operation.DELETE_PARTITIONS: "partitions_deleted",
    Operation.CREATE_ROOT: "user_created",
    Operation.CREATE_USER: "user_created",
    Operation.UPDATE_USER: "user_updated",
    Operation.DELETE_USER: "user_deleted",
    Operation.UPDATE_PERMISSIONS: "permissions_updated",
    Operation.CHANGE_PASSWORD: "password_changed",
}

_ON_USERS: Final = frozenset(
    {
        Operation.CREATE_ROOT,
        Operation.CREATE_USER,
        Operation.UPDATE_USER,
        Operation.DELETE_USER,
        Operation.UPDATE_PERMISSIONS,
        Operation.CHANGE_PASSWORD,
    }
)


class Change(NamedTuple):
    """What an op does if it succeeds."""

    event: str
    fields: Mapping[str, str | int]
    """What it does it to: names where there are such rows, else as the request has it."""


def change_of(state: State, op: Op) -> Change | None:
    """The change that an op asks for, read before it is applied: a deleted name is gone after that."""
    event = _EVENTS.get(op.operation)
    if event is None:
        return None
    try:
        return Change(event, _target(state, op))
    except RefusedError:
        return Change(event, {})


def _target(state: State, op: Op) -> dict[str, str | int]:
    match op.operation:
        case Operation.CREATE_STREAM:
            return {"stream": CreateStream.decode(op.body).name}
        case Operation.UPDATE_STREAM:
            stream = UpdateStream.decode(op.body)
            return {**_stream(state, stream.stream), "new_name": stream.name}
        case Operation.DELETE_STREAM | Operation.PURGE_STREAM:
            return _stream(state, DeleteStream.decode(op.body).stream)
        case Operation.CREATE_TOPIC:
            made = CreateTopic.decode(op.body)
            partitions = made.partitions_count
            return {**_stream(state, made.stream), "topic": made.name, "partitions": partitions}
        case operation if operation in _ON_USERS:
            return _user_target(state, op)
        case _:
            return _topic_target(state, op)


def _topic_target(state: State, op: Op) -> dict[str, str | int]:
    match op.operation:
        case Operation.UPDATE_TOPIC:
            topic = UpdateTopic.decode(op.body)
            return {**_topic(state, topic.stream, topic.topic), "new_name": topic.name}
        case Operation.DELETE_TOPIC | Operation.PURGE_TOPIC:
            named = DeleteTopic.decode(op.body)
            return _topic(state, named.stream, named.topic)
        case Operation.CREATE_PARTITIONS:
            added = CreatePartitions.decode(op.body)
            return {**_topic(state, added.stream, added.topic), "partitions": added.count}
        case Operation.DELETE_PARTITIONS:
            gone = DeletePartitions.decode(op.body)
            return {**_topic(state, gone.stream, gone.topic), "partitions": gone.count}
        case other:
            raise AssertionError(f"operation {other} has an event and no target")


def _user_target(state: State, op: Op) -> dict[str, str | int]:
    match op.operation:
        case Operation.CREATE_ROOT:
            return {"target_user": CreateRoot.decode(op.body).username}
        case Operation.CREATE_USER:
            return {"target_user": AddUser.decode(op.body).username}
        case Operation.UPDATE_USER:
            update = UpdateUser.decode(op.body)
            changed = {"new_name": update.username, "status": update.status}
            given = {name: value for name, value in changed.items() if value is not None}
            return {**_user(state, update.user), **given}
        case Operation.DELETE_USER:
            return _user(state, DeleteUser.decode(op.body).user)
        case Operation.UPDATE_PERMISSIONS:
            return _user(state, UpdatePermissions.decode(op.body).user)
        case Operation.CHANGE_PASSWORD:
            return _user(state, ReplaceHash.decode(op.body).user)
        case other:
            raise AssertionError(f"operation {other} has an event and no target")


def _user(state: State, identifier: Identifier) -> dict[str, str | int]:
    user = state.find_user(identifier)
    return {"target_user": identifier if user is None else state.users[user].name}


def _stream(state: State, identifier: Identifier) -> dict[str, str | int]:
    stream = state.find(identifier)
    return {"stream": identifier if stream is None else stream.row.name}


def _topic(state: State, stream_identifier: Identifier, identifier: Identifier) -> dict[str, str | int]:
    stream = state.find(stream_identifier)
    topic = None if stream is None else stream.find(identifier)
    return {**_stream(state, stream_identifier), "topic": identifier if topic is None else topic.row.name}
