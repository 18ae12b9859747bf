"""The golden matrix: who may do what, judged by the rights that apply judges by."""

from server_ng.metadata.rights import ALL_PERMISSIONS, NODE, Rights, Target
from server_ng.wire.permissions import Permissions
from server_ng.wire.tables import COMMANDS, Requirement
from tests.support.permission_matrix import GOLDEN_MATRIX, OWN_USER, TARGETS, matrix, rules

REQUIREMENTS = {command.name: command.requirement for command in COMMANDS}
TOPICS = {1: (2, 4), 3: (2,)}
USERS = (7, 8)


def target_of(kind: str, numbers: tuple[int, ...]) -> Target | None:
    """What a command is about, if it is there."""
    match kind, numbers:
        case "user", (user,):
            return Target(user=user) if user in USERS else None
        case "stream", (stream,):
            return Target(stream=stream) if stream in TOPICS else None
        case "topic", (stream, topic):
            return Target(stream=stream, topic=topic) if topic in TOPICS.get(stream, ()) else None
        case _:
            return NODE


def judged(requirement: Requirement, target: Target | None, sets: list[Rights]) -> str:
    """The letters of a verdict."""
    if target is None:
        return "-" * len(sets)
    return "".join("y" if rights.meet(OWN_USER, requirement, target) else "n" for rights in sets)


def test_the_file_follows_the_protocol() -> None:
    assert GOLDEN_MATRIX.read_text() == matrix()


def test_every_command_has_its_rule() -> None:
    assert sorted(rules()) == sorted(REQUIREMENTS)


def test_every_verdict() -> None:
    lines = [line.split() for line in GOLDEN_MATRIX.read_text().splitlines() if not line.startswith("#")]
    blocks = [bytes.fromhex(line[2]) for line in lines if line[0] == "set"]
    sets = [Rights.compile(Permissions.decode(block)) for block in blocks]
    verdicts = [line[1:] for line in lines if line[0] == "verdict"]
    assert len(sets) == 60
    assert len(verdicts) == sum(len(TARGETS[rule.target]) for rule in rules().values())
    for command, kind, name, letters in verdicts:
        target = target_of(kind, TARGETS[kind][name])
        assert (command, name, judged(REQUIREMENTS[command], target, sets)) == (command, name, letters)


def test_root_may_do_everything() -> None:
    root = Rights.compile(ALL_PERMISSIONS)
    for requirement in Requirement:
        for target in (NODE, Target(user=7), Target(stream=3), Target(stream=3, topic=4)):
            assert root.meet(0, requirement, target)
