"""What a user may do, compiled from permissions: the rule by which apply judges every op.

The twin of what shards judge by: both take the flags of each requirement from the one table.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Final, NamedTuple, Self

from server_ng.wire.permissions import Permissions
from server_ng.wire.tables import REQUIREMENTS, GlobalFlag, Requirement

__all__ = ["ALL_PERMISSIONS", "NODE", "Rights", "Target"]

_NEEDS_NO_FLAG: Final = frozenset({Requirement.NOTHING, Requirement.CREDENTIALS, Requirement.SESSION})
_MET_BY_ONESELF: Final = frozenset({Requirement.READ_USERS_OR_SELF, Requirement.MANAGE_USERS_OR_SELF})


class Target(NamedTuple):
    """What a command is about, by number, once it was found; a topic is named with its stream."""

    user: int | None = None
    stream: int | None = None
    topic: int | None = None


NODE: Final = Target()
"""The node, all streams or all users."""


class _Masks(NamedTuple):
    """Of the flags of which any one meets a requirement."""

    everywhere: int
    stream: int
    topic: int


def _mask(flags: Iterable[int]) -> int:
    return reduce(or_, map(int, flags), 0)


_MASKS: Final[Mapping[Requirement, _Masks]] = {
    row.requirement: _Masks(_mask(row.global_flags), _mask(row.stream_flags), _mask(row.topic_flags))
    for row in REQUIREMENTS
}

ALL_PERMISSIONS: Final = Permissions(_mask(GlobalFlag))
"""Every flag that holds everywhere: what the root user holds."""


@dataclass(frozen=True, slots=True)
class Rights:
    """The permissions of one user. An entry for a stream or topic that is not there grants nothing."""

    everywhere: int
    streams: Mapping[int, int]
    topics: Mapping[tuple[int, int], int]

    @classmethod
    def compile(cls, permissions: Permissions) -> Self:
        """The rights that permissions grant."""
        return cls(
            permissions.everywhere,
            {stream.number: stream.flags for stream in permissions.streams},
            {
                (stream.number, topic.number): topic.flags
                for stream in permissions.streams
                for topic in stream.topics
            },
        )

    def meet(self, user: int, requirement: Requirement, target: Target) -> bool:
        """Whether `user`, whose rights these are, meets a requirement on a target."""
        if requirement in _NEEDS_NO_FLAG or (requirement in _MET_BY_ONESELF and target.user == user):
            return True
        masks = _MASKS[requirement]
        if self.everywhere & masks.everywhere:
            return True
        if target.stream is None:
            return False
        if self.streams.get(target.stream, 0) & masks.stream:
            return True
        topic = None if target.topic is None else (target.stream, target.topic)
        return topic is not None and bool(self.topics.get(topic, 0) & masks.topic)
