"""Grants end with the stream or topic that they name, because a later one gets the same number."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from server_ng.metadata.deltas import Put
from server_ng.metadata.rows import user_key
from server_ng.metadata.state import State
from server_ng.wire.permissions import Permissions, StreamPermissions

__all__ = ["without_stream", "without_topic"]

_Streams: TypeAlias = tuple[StreamPermissions, ...]


def without_stream(state: State, stream: int) -> tuple[Put, ...]:
    """The rows of the users whose permissions name a stream, without it."""
    return _changed(state, stream, lambda streams: tuple(each for each in streams if each.number != stream))


def without_topic(state: State, stream: int, topic: int) -> tuple[Put, ...]:
    """The rows of the users whose permissions name a topic, without it."""

    def drop(streams: _Streams) -> _Streams:
        return tuple(_without(each, topic) if each.number == stream else each for each in streams)

    return _changed(state, stream, drop)


def _without(stream: StreamPermissions, topic: int) -> StreamPermissions:
    return stream._replace(topics=tuple(each for each in stream.topics if each.number != topic))


def _changed(state: State, stream: int, drop: Callable[[_Streams], _Streams]) -> tuple[Put, ...]:
    rows = []
    for user in sorted(state.grantees.get(stream, ())):
        row = state.users[user]
        before = Permissions.decode(row.permissions)
        after = replace(before, streams=drop(before.streams))
        if after != before:
            rows.append(Put(user_key(user), row._replace(permissions=after.encode()).encode()))
    return tuple(rows)
