"""What goes into the audit file: each committed operation, each login, each refusal."""

from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, Final

from server_ng.audit.file import AuditFile, NotAnAuditFileError
from server_ng.bootstrap.errors import StartError
from server_ng.bootstrap.metadata_events import Change
from server_ng.engine.records import Session
from server_ng.metadata.ops import SUCCESS, Op, Outcome
from server_ng.observe.catalogue import sample
from server_ng.observe.metrics import Sample
from server_ng.wire.tables import ErrorCode, SessionChange

__all__ = ["Audit", "open_audit"]

_CLOSE_SECONDS: Final = 5.0
# No account has a longer name.
_NAME_MAX: Final = 50
# Beyond this some end was lost on the way here; there are never more sessions.
_ADDRESSES_MAX: Final = 65_536


def open_audit(path: Path | None) -> AuditFile | None:
    """The audit file of the settings, if they name one; raises `StartError`."""
    if path is None:
        return None
    try:
        return AuditFile(path)
    except OSError as error:
        raise StartError(
            f"The audit file {path} (audit.path) cannot be opened: {error.strerror}. "
            "Give it a path where this user may write, or set audit.path to none."
        ) from error
    except NotAnAuditFileError as error:
        raise StartError(
            f"The file {path} (audit.path) does not end with an audit line, so nothing is added to it. "
            "Move it away, or give audit.path another path."
        ) from error


class Audit:
    """Writes events to the audit file, or nowhere if there is none."""

    def __init__(self, file: AuditFile | None, cluster: Callable[[], str]) -> None:
        self._file = file
        self._cluster = cluster
        """The identity of the cluster: known once the data directory is founded."""
        self._is_begun = False
        self._sessions = 0
        """How many records of sessions the engine has made."""
        self._addresses: dict[int, str] = {}
        """Of the clients that have sessions."""

    @property
    def is_on(self) -> bool:
        """Whether there is a file."""
        return self._file is not None

    def start(self, spawn: Callable[[str, Coroutine[Any, Any, None]], None]) -> None:
        """Lets lines be written."""
        if (file := self._begun()) is not None:
            spawn("audit", file.run())

    async def stop(self) -> None:
        """Writes what waits, if the disk takes it in time."""
        if self._file is not None and self._is_begun:
            await self._file.close(_CLOSE_SECONDS)

    def operation(self, op: Op, change: Change, outcome: Outcome) -> None:
        """A committed operation. A start applies again what the journal holds, and the file has that."""
        file = self._begun()
        if file is not None and op.number > file.last_op:
            result = "ok" if outcome.result == SUCCESS else ErrorCode(outcome.result).name.lower()
            address = self._addresses.get(op.client)
            where = {} if address is None else {"address": address}
            fields = {"user": op.user_id, **where, **change.fields, "outcome": result}
            file.add(change.event, op.number, fields, op.timestamp)

    def session(self, record: Session) -> None:
        """A session that opened or ended. The engine tells of them only if there is a file."""
        if (file := self._begun()) is None:
            return
        if record.sequence > self._sessions:
            file.lose(record.sequence - self._sessions)
        self._sessions = record.sequence + 1
        fields: dict[str, str | int | None] = {
            "user": record.user_id,
            "session": record.number,
            "address": record.address,
        }
        match record.change:
            case SessionChange.OPENED:
                self._addresses[record.client] = record.address
                file.add("logged_in", 0, fields)
            case SessionChange.ENDED:
                self._addresses.pop(record.client, None)
            case SessionChange.EVICTED:
                self._addresses.pop(record.client, None)
                reason = None if record.reason is None else record.reason.name.lower()
                file.add("session_evicted", 0, {**fields, "outcome": reason})
        if len(self._addresses) > _ADDRESSES_MAX:
            del self._addresses[next(iter(self._addresses))]

    def refused(self, username: str, address: str, *, throttled: bool) -> None:
        """Credentials that were refused, or not looked at."""
        outcome = "throttled" if throttled else "credentials"
        self._add("login_refused", name=username[:_NAME_MAX], address=address, outcome=outcome)

    def samples(self) -> Iterator[Sample]:
        """Figures of the file."""
        yield sample("audit_lines_total", 0 if self._file is None else self._file.written)
        yield sample("audit_lines_lost_total", 0 if self._file is None else self._file.lost)

    def _add(self, event: str, **fields: str | int) -> None:
        if (file := self._begun()) is not None:
            file.add(event, 0, fields)

    def _begun(self) -> AuditFile | None:
        if self._file is not None and not self._is_begun:
            self._file.begin(self._cluster())
            self._is_begun = True
        return self._file
