"""The golden matrix of permissions: every command, 60 sets, own, sibling, other and missing targets.

`python -m tests.support.permission_matrix` writes it. The verdicts follow the protocol's own list of what
grants what, by a rule that is slow and obvious and shares nothing with the server: flag names, no masks.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

__all__ = ["GOLDEN_MATRIX", "TARGETS", "Rule", "matrix", "rules"]

GOLDEN_MATRIX: Final = Path(__file__).resolve().parent.parent / "golden" / "permissions" / "matrix.txt"

GLOBAL: Final = (
    "manage_servers", "read_servers", "manage_users", "read_users", "manage_streams",
    "read_streams", "manage_topics", "read_topics", "poll_messages", "send_messages",
)  # fmt: skip
STREAM: Final = (
    "manage_stream", "read_stream", "manage_topics", "read_topics", "poll_messages", "send_messages",
)  # fmt: skip
TOPIC: Final = ("manage_topic", "read_topic", "poll_messages", "send_messages")

OWN_USER: Final = 7
TARGETS: Final[Mapping[str, Mapping[str, tuple[int, ...]]]] = {
    "node": {"-": ()},
    "user": {"own": (OWN_USER,), "other": (8,), "missing": (9,)},
    "stream": {"own": (1,), "other": (3,), "missing": (5,)},
    "topic": {"own": (1, 2), "sibling": (1, 4), "other": (3, 2), "missing": (1, 6)},
}
"""What commands are about, by number; a topic is named with its stream."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What grants a command: flags by where they hold, or words that stand for no flag."""

    target: str
    everywhere: frozenset[str] = frozenset()
    stream: frozenset[str] = frozenset()
    topic: frozenset[str] = frozenset()
    oneself: bool = False
    anyone: bool = False


@dataclass(slots=True)
class PermissionSet:
    """Permissions as names."""

    name: str
    everywhere: tuple[str, ...] = ()
    streams: dict[int, tuple[tuple[str, ...], dict[int, tuple[str, ...]]]] = field(default_factory=dict)

    def block(self) -> bytes:
        """Laid out as a client does."""
        laid = _bits(self.everywhere, GLOBAL)
        for stream, (flags, topics) in self.streams.items():
            laid += b"\x01" + stream.to_bytes(4, "little") + _bits(flags, STREAM)
            for topic, topic_flags in topics.items():
                laid += b"\x01" + topic.to_bytes(4, "little") + _bits(topic_flags, TOPIC)
            laid += b"\x00"
        return laid + b"\x00"


_SESSION: Final = """
    me, cluster.metadata, options.describe, consumer_session.attach, consumer_group.sync, user.logout,
    message.flush_unsaved_buffer, personal_access_token.list, personal_access_token.create,
    personal_access_token.delete
"""
_BEFORE_LOGIN: Final = """
    ping, user.login, user.login_register, personal_access_token.login, user.login_register_with_pat
"""
_READ_TOPICS: Final = """
    G read_streams, manage_streams, manage_topics, read_topics
    S manage_stream, read_stream, manage_topics, read_topics
"""
_MANAGE_TOPICS: Final = """
    G manage_streams, manage_topics
    S manage_stream, manage_topics
"""

_GRANTED_BY: Final = (
    ("node", "stats, client.get, client.list, snapshot", "G manage_servers, read_servers"),
    ("node", "user.list", "G manage_users, read_users"),
    ("user", "user.get", "self\nG manage_users, read_users"),
    ("node", "user.create", "G manage_users"),
    ("user", "user.delete, user.update, user.permissions", "G manage_users"),
    ("user", "user.password", "self\nG manage_users"),
    ("node", _SESSION, "anyone"),
    ("node", _BEFORE_LOGIN, "anyone"),
    ("node", "stream.list", "G manage_streams, read_streams"),
    ("stream", "stream.get", "G manage_streams, read_streams\nS manage_stream, read_stream"),
    ("node", "stream.create", "G manage_streams"),
    ("stream", "stream.update, stream.delete, stream.purge", "G manage_streams\nS manage_stream"),
    ("stream", "topic.list", _READ_TOPICS),
    (
        "topic",
        """
        topic.get, consumer_group.get, consumer_group.list, consumer_group.create, consumer_group.delete,
        consumer_group.join, consumer_group.leave
        """,
        f"{_READ_TOPICS}\nT manage_topic, read_topic",
    ),
    ("stream", "topic.create", _MANAGE_TOPICS),
    (
        "topic",
        "topic.update, topic.delete, topic.purge, partition.create, partition.delete, segment.delete",
        f"{_MANAGE_TOPICS}\nT manage_topic",
    ),
    (
        "topic",
        "message.send",
        """
        G send_messages, manage_streams, manage_topics
        S send_messages, manage_stream, manage_topics
        T send_messages, manage_topic
        """,
    ),
    (
        "topic",
        """
        message.poll, message.poll_routing, message.poll_primary,
        consumer_offset.get, consumer_offset.store, consumer_offset.delete, consumer_offset.routing
        """,
        """
        G poll_messages, read_topics, manage_topics, read_streams, manage_streams
        S poll_messages, read_topics, manage_topics, read_stream, manage_stream
        T poll_messages, read_topic, manage_topic
        """,
    ),
)
"""What each command is about, and what grants it, as the protocol lists it."""


def rules() -> dict[str, Rule]:
    """The rule of each command."""
    return {
        command: _rule(target, granted_by)
        for target, commands, granted_by in _GRANTED_BY
        for command in _words(commands)
    }


def matrix() -> str:
    """The golden file."""
    sets = list(_sets())
    lines = [
        "# Who may do what. A set is a permission block that user 7 holds. A verdict has a letter for each",
        "# set: y allowed, n forbidden, - not judged, because the target is missing. There are streams 1 and",
        "# 3, topics 2 and 4 of stream 1, topic 2 of stream 3, and users 7 and 8.",
        "# Written by `python -m tests.support.permission_matrix`.",
        *(f"set {one.name} {one.block().hex()}" for one in sets),
    ]
    for command, rule in rules().items():
        for name, numbers in TARGETS[rule.target].items():
            letters = "".join("-" if name == "missing" else _letter(rule, one, numbers) for one in sets)
            lines.append(f"verdict {command} {rule.target} {name} {letters}")
    return "\n".join(lines) + "\n"


def _letter(rule: Rule, permissions: PermissionSet, target: tuple[int, ...]) -> str:
    if rule.anyone or (rule.oneself and target == (OWN_USER,)):
        return "y"
    held = [(flag, rule.everywhere) for flag in permissions.everywhere]
    for stream, (flags, topics) in permissions.streams.items():
        if rule.target in ("stream", "topic") and target[0] == stream:
            held += [(flag, rule.stream) for flag in flags]
            for topic, topic_flags in topics.items():
                if rule.target == "topic" and target[1] == topic:
                    held += [(flag, rule.topic) for flag in topic_flags]
    return "y" if any(flag in wanted for flag, wanted in held) else "n"


def _rule(target: str, granted_by: str) -> Rule:
    flags: dict[str, frozenset[str]] = {}
    words = [line.strip() for line in granted_by.splitlines() if line.strip()]
    for line in words:
        if line not in ("anyone", "self"):
            where, _, names = line.partition(" ")
            flags[where] = frozenset(_words(names))
    nothing: frozenset[str] = frozenset()
    return Rule(
        target,
        flags.get("G", nothing),
        flags.get("S", nothing),
        flags.get("T", nothing),
        oneself="self" in words,
        anyone="anyone" in words,
    )


def _words(listed: str) -> list[str]:
    return [word.strip() for word in listed.split(",") if word.strip()]


def _bits(held: tuple[str, ...], flags: tuple[str, ...]) -> bytes:
    return bytes(flag in held for flag in flags)


def _sets() -> Iterator[PermissionSet]:
    """Sixty sets; unless their name says more, they grant in stream 1 and in its topic 2."""
    yield PermissionSet("nothing")
    for flag in GLOBAL:
        yield PermissionSet(f"global.{flag}", (flag,))
    for flag in STREAM:
        yield PermissionSet(f"stream.{flag}", streams={1: ((flag,), {})})
    for flag in TOPIC:
        yield PermissionSet(f"topic.{flag}", streams={1: ((), {2: (flag,)})})
    yield PermissionSet("global.all", GLOBAL)
    yield PermissionSet("stream.all", streams={1: (STREAM, {})})
    yield PermissionSet("topic.all", streams={1: ((), {2: TOPIC})})
    for flag in GLOBAL:
        yield PermissionSet(f"global.without.{flag}", tuple(other for other in GLOBAL if other != flag))
    for flag in STREAM:
        others = tuple(other for other in STREAM if other != flag)
        yield PermissionSet(f"stream.without.{flag}", streams={1: (others, {})})
    for flag in TOPIC:
        others = tuple(other for other in TOPIC if other != flag)
        yield PermissionSet(f"topic.without.{flag}", streams={1: ((), {2: others})})
    yield PermissionSet("elsewhere.stream", streams={3: (STREAM, {})})
    yield PermissionSet("elsewhere.topic", streams={3: ((), {2: TOPIC})})
    yield PermissionSet("elsewhere.sibling", streams={1: ((), {4: TOPIC})})
    yield PermissionSet("missing.stream", streams={5: (STREAM, {2: TOPIC})})
    yield PermissionSet("missing.topic", streams={1: ((), {6: TOPIC})})
    yield PermissionSet("unordered", streams={3: ((), {4: TOPIC, 2: TOPIC}), 1: ((), {4: TOPIC, 2: ()})})
    yield PermissionSet("many", streams={stream: ((), {2: ("read_topic",)}) for stream in range(64)})
    chance = random.Random(19)
    for number in range(9):
        everywhere = tuple(flag for flag in GLOBAL if number % 4 == 0 and chance.random() < 0.1)
        streams = {
            stream: (_drawn(chance, STREAM), {topic: _drawn(chance, TOPIC) for topic in (4, 2, 6)})
            for stream in (3, 1, 5)
        }
        yield PermissionSet(f"drawn.{number}", everywhere, streams)


def _drawn(chance: random.Random, flags: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(flag for flag in flags if chance.random() < 0.3)


if __name__ == "__main__":
    GOLDEN_MATRIX.write_text(matrix())
