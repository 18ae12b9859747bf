"""Logins: from the engine's question to its answer."""

from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from server_ng import auth
from server_ng.auth import Accepted, Authenticator, Busy, Refused
from server_ng.bootstrap.auditing import Audit
from server_ng.bootstrap.refusals import Refusals
from server_ng.engine.records import Login, LoginVerdict, encode_login_verdict
from server_ng.wire.tables import Verdict

__all__ = ["Logins"]

_log = structlog.get_logger()


class Logins:
    """Answers each login the engine asks about. The engine bounds how many there are at once."""

    def __init__(
        self,
        authenticator: Authenticator,
        audit: Audit,
        send: Callable[[bytes], None],
        spawn: Callable[[str, Coroutine[Any, Any, None]], None],
    ) -> None:
        self._authenticator = authenticator
        self._audit = audit
        self._send = send
        self._spawn = spawn
        self._refusals = Refusals()

    def take(self, login: Login) -> None:
        """Begins to answer a login."""
        self._spawn("login", self._answer(login))

    async def _answer(self, login: Login) -> None:
        try:
            verdict = await self._authenticator.verify(login.username, login.password, login.address)
        except Exception:
            # The fault ends the process; the client may try again, and the stop has nobody to wait for.
            self._send(encode_login_verdict(LoginVerdict(login.token, Verdict.BUSY)))
            raise
        match verdict:
            case Refused(throttled):
                self._refusals.tell(login.username, login.address, throttled=throttled)
                self._audit.refused(login.username, login.address, throttled=throttled)
            case Accepted(user_id):
                _log.debug(
                    "client_logged_in", username=login.username, address=login.address, user_id=user_id
                )
            case Busy():
                # The client is told to try again, and does.
                pass
        self._send(encode_login_verdict(_answer(login.token, verdict)))


def _answer(token: int, verdict: auth.Verdict) -> LoginVerdict:
    match verdict:
        case Accepted(user_id):
            return LoginVerdict(token, Verdict.ACCEPTED, user_id)
        case Refused(throttled):
            return LoginVerdict(token, Verdict.THROTTLED if throttled else Verdict.REFUSED)
        case Busy():
            return LoginVerdict(token, Verdict.BUSY)
