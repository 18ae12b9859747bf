"""Commands with passwords: from the engine's question to what its log takes."""

from collections.abc import Callable, Coroutine
from typing import Any

from server_ng.auth import Enricher
from server_ng.engine.records import Enrich, encode_enriched
from server_ng.metadata.ops import SUCCESS
from server_ng.wire.refusals import RefusedError
from server_ng.wire.tables import ErrorCode

__all__ = ["Enriching"]


class Enriching:
    """Answers each command that the engine asks about. The engine bounds how many there are at once."""

    def __init__(
        self,
        enricher: Enricher,
        send: Callable[[bytes], None],
        spawn: Callable[[str, Coroutine[Any, Any, None]], None],
    ) -> None:
        self._enricher = enricher
        self._send = send
        self._spawn = spawn

    def take(self, command: Enrich) -> None:
        """Begins to answer a command."""
        self._spawn("enrichment", self._answer(command))

    async def _answer(self, command: Enrich) -> None:
        try:
            body = await self._enricher.enrich(command.operation, command.body)
        except RefusedError as refusal:
            self._send(encode_enriched(command.token, refusal.code))
        except Exception:
            # The fault ends the process; the client may try again, and the stop has nobody to wait for.
            self._send(encode_enriched(command.token, ErrorCode.TRANSIENT_NOT_ACCEPTED))
            raise
        else:
            self._send(encode_enriched(command.token, SUCCESS, body))
