"""The table of commands in this folder's README is what the server does."""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from server_ng.wire.tables import COMMANDS, CommandRow, Operation
from server_ng.wire.user_requests import (
    ChangePassword,
    CreateUser,
    DeleteUser,
    UpdatePermissions,
    UpdateUser,
)
from tests.support.batches import batch, by_number, name8, number, send_body
from tests.support.frames import (
    COMMAND,
    LOGOUT,
    REGISTER,
    Eviction,
    Frame,
    Request,
    password_body,
    token_body,
)
from tests.support.node import Node
from tests.support.raw import PASSWORD, USERNAME, RawClient
from tests.support.topic_client import Place, TopicClient

_ROW = re.compile(r"^\| (\d+) \| `([a-z_.]+)` \| ([a-z]+(?: \d+)?) \|$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    code: int
    name: str
    today: str


def table() -> list[Row]:
    """The table of the README."""
    text = (Path(__file__).parent / "README.md").read_text()
    return [Row(int(code), name, today) for code, name, today in _ROW.findall(text)]


_CONSUMER = b"\1" + number(0)
_PARTITION = struct.pack("<BI", 1, 0)
_FROM_THE_FIRST = struct.pack("<BQIB", 3, 0, 1, 0)
_NEW_NAME = "new"
_DECIDED = range(Operation.CREATE_STREAM, Operation.DELETE_PARTITIONS + 1)
"""Operations on streams, topics and partitions."""
_OF_USERS = range(Operation.CREATE_USER, Operation.UPDATE_PERMISSIONS + 1)


def bodies(stream: bytes, topic: bytes, new_name: bytes) -> dict[int, bytes]:
    """Bodies of the commands that need one; what they name exists."""
    place = stream + topic
    partition = _CONSUMER + place + _PARTITION
    return {
        13: b"\x01",
        21: struct.pack("<I", 1),
        31: number(0),
        33: CreateUser("made", b"a secret").encode(),
        34: DeleteUser("another").encode(),
        35: UpdateUser("another", username="renamed").encode(),
        36: UpdatePermissions("another").encode(),
        37: ChangePassword("another", b"a secret", b"another").encode(),
        100: partition + _FROM_THE_FIRST,
        101: send_body(stream, topic, by_number(0), batch([b"hello"]), 1),
        120: partition,
        121: partition + struct.pack("<QB", 0, 1),
        122: partition + b"\1",
        200: stream,
        202: new_name,
        203: stream,
        204: stream + new_name,
        205: stream,
        300: place,
        301: stream,
        302: stream + struct.pack("<I", 1) + new_name,
        303: place,
        304: place + new_name,
        305: place,
        402: place + struct.pack("<I", 1),
        403: place + struct.pack("<I", 1),
        503: place + struct.pack("<II", 0, 1),
    }


@pytest.fixture
def place(served: Node, command: CommandRow) -> Place:
    """A topic with a message and a stored offset, for this command alone."""
    found = Place(f"for {command.code}", "topic")
    with TopicClient(served.connect_registered()) as client:
        client.create_stream(found.stream)
        client.create_topic(found, 1, 1 << 20)
        assert client.send(found, 0, batch([b"first"]), 1).status == 0
        assert client.store_offset(found, 0, 0, 0).status == 0
    return found


@pytest.fixture
def another(served: Node) -> Iterator[None]:
    """A user, for this command alone."""
    with TopicClient(served.connect_registered()) as client:
        assert client.ask(33, CreateUser("another", b"a secret").encode()).rejection == 0
        yield
        for name in ("another", "renamed", "made"):
            client.ask(34, DeleteUser(name).encode())


def request_for(command: CommandRow, place: Place, client: RawClient) -> Request:
    """A request that a client with a session sends, with as much of a body as the served commands need."""
    match command.code:
        case 40:
            return Request(REGISTER, body=password_body(USERNAME, PASSWORD), client=client.client)
        case 45:
            return Request(REGISTER, body=token_body("a token that nobody made"), client=client.client)
    operation = int(command.operation)
    code = command.code if operation == COMMAND else 0
    names = (b"\2" + name8(place.stream), b"\2" + name8(place.topic), name8(f"{_NEW_NAME} {command.code}"))
    body = bodies(*names).get(command.code, b"")
    return Request(operation, code, body, client=client.client, session=client.session, request=1)


def what_came(answer: Frame) -> str:
    """An answer in the words of the table."""
    if isinstance(answer, Eviction):
        return f"evicts {answer.reason}"
    # An operation that was decided and refused says so in its result section.
    refused = answer.rejection if answer.operation in (*_DECIDED, *_OF_USERS) else 0
    code = answer.status or refused
    return f"answers {code}" if code else "served"


def test_the_table_lists_every_command() -> None:
    assert [(row.code, row.name) for row in table()] == [(command.code, command.name) for command in COMMANDS]
    assert len(table()) == 55


@pytest.mark.usefixtures("another")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: str(command.name))
def test_the_server_does_what_the_table_says(served: Node, command: CommandRow, place: Place) -> None:
    (row,) = (row for row in table() if row.code == command.code)
    with served.connect_registered() as client:
        answer = client.ask(request_for(command, place, client))
        # Whatever the answer was, the connection is as good as before.
        client.ping()
    assert what_came(answer) == row.today


def test_a_logout_ends_the_session_it_is_served_to(served: Node) -> None:
    with served.connect_registered() as client:
        answer = client.ask(Request(LOGOUT, client=client.client, session=client.session, request=1))
        assert what_came(answer) == "served"
        assert what_came(client.ask(client.prepare(20))) == "answers 40"
