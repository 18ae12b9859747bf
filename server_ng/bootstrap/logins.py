"""Logins: from the engine's question to its answer."""

from collections.abc import Callable, Coroutine
from typing import Any

from server_ng import auth
from server_ng.auth import Accepted, Authenticator, Busy, Refused
from server_ng.bootstrap.refusals import Refusals
from server_ng.engine.records import Login, LoginVerdict, Verdict, encode_login_verdict

__all__ = ["Logins"]


class Logins:
    """Answers each login the engine asks about. The engine bounds how many there are at once."""

    def __init__(
        self,
        authenticator: Authenticator,
        send: Callable[[bytes], None],
        spawn: Callable[[str, Coroutine[Any, Any, None]], None],
    ) -> None:
        self._authenticator = authenticator
        self._send = send
        self._spawn = spawn
        self._refusals = Refusals()

    def take(self, login: Login) -> None:
        """Begins to answer a login."""
        self._spawn("login", self._answer(login))

    async def _answer(self, login: Login) -> None:
        try:
            verdict = await self._authenticator.verify(login.username, login.password)
        except Exception:
            # The fault ends the process; the client may try again, and the stop has nobody to wait for.
            self._send(encode_login_verdict(LoginVerdict(login.token, Verdict.BUSY)))
            raise
        if isinstance(verdict, Refused):
            self._refusals.tell(login.username, login.address)
        self._send(encode_login_verdict(_answer(login.token, verdict)))


def _answer(token: int, verdict: auth.Verdict) -> LoginVerdict:
    match verdict:
        case Accepted(user_id):
            return LoginVerdict(token, Verdict.ACCEPTED, user_id)
        case Refused():
            return LoginVerdict(token, Verdict.REFUSED)
        case Busy():
            return LoginVerdict(token, Verdict.BUSY)
