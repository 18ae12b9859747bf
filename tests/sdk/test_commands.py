"""The table of commands in this folder's README is what the server does."""

import re
import struct
from dataclasses import dataclass
from pathlib import Path

import pytest

from server_ng.wire.tables import COMMANDS, CommandRow
from tests.support.batches import batch, by_number, send_body
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


_STREAM = struct.pack("<BBI", 1, 4, 0)
_CONSUMER = struct.pack("<BBBI", 1, 1, 4, 0)
_PARTITION = struct.pack("<BI", 1, 0)
_NAME = struct.pack("<B5s", 5, b"table")

BODIES: dict[int, bytes] = {
    13: b"\x01",
    21: struct.pack("<I", 1),
    100: _CONSUMER + _STREAM + _STREAM + _PARTITION + struct.pack("<BQIB", 3, 0, 1, 0),
    101: send_body(_STREAM, _STREAM, by_number(0), batch([b"hello"]), 1),
    120: _CONSUMER + _STREAM + _STREAM + _PARTITION,
    121: _CONSUMER + _STREAM + _STREAM + _PARTITION + struct.pack("<QB", 0, 1),
    122: _CONSUMER + _STREAM + _STREAM + _PARTITION + b"\1",
    200: _STREAM,
    202: _NAME,
    203: _STREAM,
    204: _STREAM + _NAME,
    205: _STREAM,
    300: _STREAM + _STREAM,
    301: _STREAM,
    302: _STREAM + struct.pack("<I", 1) + _NAME,
    303: _STREAM + _STREAM,
    304: _STREAM + _STREAM + _NAME,
    305: _STREAM + _STREAM,
    402: _STREAM + _STREAM + struct.pack("<I", 1),
    403: _STREAM + _STREAM + struct.pack("<I", 1),
    503: _STREAM + _STREAM + struct.pack("<II", 0, 1),
}
"""Bodies of commands that need one; what they name need not be there."""


def request_for(command: CommandRow, client: RawClient) -> Request:
    """A request that a client with a session sends, with as much of a body as the served commands need."""
    match command.code:
        case 40:
            return Request(REGISTER, body=password_body(USERNAME, PASSWORD), client=client.client)
        case 45:
            return Request(REGISTER, body=token_body("a token that nobody made"), client=client.client)
    operation = int(command.operation)
    code = command.code if operation == COMMAND else 0
    body = BODIES.get(command.code, b"")
    return Request(operation, code, body, client=client.client, session=client.session, request=1)


def what_came(answer: Frame) -> str:
    """An answer in the words of the table."""
    if isinstance(answer, Eviction):
        return f"evicts {answer.reason}"
    return f"answers {answer.status}" if answer.status else "served"


def test_the_table_lists_every_command() -> None:
    assert [(row.code, row.name) for row in table()] == [(command.code, command.name) for command in COMMANDS]
    assert len(table()) == 55


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: str(command.name))
def test_the_server_does_what_the_table_says(served: Node, command: CommandRow) -> None:
    (row,) = (row for row in table() if row.code == command.code)
    with served.connect_registered() as client:
        answer = client.ask(request_for(command, client))
        # Whatever the answer was, the connection is as good as before.
        client.ping()
    assert what_came(answer) == row.today


def test_a_logout_ends_the_session_it_is_served_to(served: Node) -> None:
    with served.connect_registered() as client:
        answer = client.ask(Request(LOGOUT, client=client.client, session=client.session, request=1))
        assert what_came(answer) == "served"
        assert what_came(client.ask(client.prepare(20))) == "answers 40"
