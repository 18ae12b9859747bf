"""The raw client's frames are those of the reference, so what it shows is the server's doing."""

import pytest

from tests.support.frames import (
    CLIENT,
    COMMAND,
    HEADER_BYTES,
    LOGOUT,
    REGISTER,
    Eviction,
    Reply,
    Request,
    decode,
    password_body,
)
from tests.support.golden import golden_bytes
from tests.support.raw import registered


def test_a_ping_is_the_golden_one() -> None:
    assert Request(COMMAND, 1, request=1).encode() == golden_bytes("ping_request")


def test_a_login_body_is_the_golden_one() -> None:
    assert password_body("iggy", "iggy") == golden_bytes("register_password_body")


def test_a_login_is_the_golden_one() -> None:
    golden = golden_bytes("register_password_request")
    checksum = int.from_bytes(golden[144:160], "little")
    assert Request(REGISTER, body=password_body("iggy", "iggy"), checksum=checksum).encode() == golden


def test_a_logout_is_the_golden_one() -> None:
    golden = golden_bytes("logout_request")
    checksum = int.from_bytes(golden[144:160], "little")
    session = int.from_bytes(golden[184:192], "little")
    request = int.from_bytes(golden[168:176], "little")
    made = Request(LOGOUT, session=session, request=request, checksum=checksum)
    assert made.encode() == golden


@pytest.mark.parametrize("name", ["ping_reply", "register_reply", "logout_reply", "get_stream_denied"])
def test_golden_replies_are_read(name: str) -> None:
    golden = golden_bytes(name)
    reply = decode(golden[:HEADER_BYTES], golden[HEADER_BYTES:])
    assert isinstance(reply, Reply)
    assert reply.client == CLIENT


def test_a_golden_session_is_read() -> None:
    golden = golden_bytes("register_reply")
    reply = decode(golden[:HEADER_BYTES], golden[HEADER_BYTES:])
    assert isinstance(reply, Reply)
    assert registered(reply).session > 0


def test_golden_evictions_are_read() -> None:
    for name, reason in (("evicted_invalid_credentials", 9), ("evicted_incompatible_protocol", 14)):
        eviction = decode(golden_bytes(name), b"")
        assert isinstance(eviction, Eviction)
        assert eviction.reason == reason
