"""The state machine as the control plane holds it: rows are loaded, then ops are applied one by one."""

from collections.abc import Iterator

from server_ng.metadata.apply import NOT_OF_THE_OP, decide
from server_ng.metadata.deltas import Put, decode_deltas
from server_ng.metadata.ops import Op, Outcome
from server_ng.metadata.rows import BadRowsError
from server_ng.metadata.state import State, fold
from server_ng.wire.tables import ErrorCode

__all__ = ["Metadata"]


class Metadata:
    """Owns the state; others read it."""

    def __init__(self) -> None:
        self._state = State()
        self._loading: State | None = None
        self._touched: dict[int, None] = {}

    @property
    def state(self) -> State:
        """What the last op, or the last piece of a load, left."""
        return self._state

    def load(self, deltas: bytes, last: bool) -> None:
        """Takes a piece of all rows, keys ascending; the state they make takes over with the last piece."""
        loading = State() if self._loading is None else self._loading
        self._loading = loading
        fold(loading, _puts(deltas))
        if last:
            self._state, self._loading = loading, None
            self._touched.clear()

    def apply(self, op: Op) -> Outcome:
        """Decides the op and writes what it comes to.

        A bug in the writing is met again by every replay, as one in the decision is: it is the same error
        without deltas everywhere, and leaves the state as it was.
        """
        if self._loading is not None:
            raise BadRowsError(f"op {op.number} comes in the middle of the rows")
        outcome = decide(self._state, op)
        try:
            touched = fold(self._state, outcome.deltas)
        except NOT_OF_THE_OP:
            raise
        except Exception as fault:
            return Outcome(ErrorCode.ERROR, fault=fault)
        self._touched.update(dict.fromkeys(touched))
        return outcome

    def take_touched(self) -> tuple[int, ...]:
        """The groups whose partition came, changed or went since the last call, or since the last load."""
        touched = tuple(self._touched)
        self._touched.clear()
        return touched


def _puts(deltas: bytes) -> Iterator[Put]:
    for delta in decode_deltas(deltas):
        if not isinstance(delta, Put):
            raise BadRowsError("a row is deleted while rows are loaded")
        yield delta
