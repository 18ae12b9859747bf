"""Leases from a running server: a small client of its control socket, one line of JSON each way."""

import json
import logging
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, Final

from server_ng.segments.lease import Lease
from server_ng.segments.socket_path import socket_address
from server_ng.spark.background import beside

__all__ = ["CutRefusedError", "Cutter", "HeldLease", "held", "let_go", "renewing"]

_log: Final = logging.getLogger("server_ng.spark")

_PATIENCE_SECONDS: Final = 120.0
_ANSWER_BYTES_MAX: Final = 256 << 20
_LATER: Final = frozenset({"busy", "stopping", "failed", "budget", "unreachable"})
"""Refusals that say something of this moment: of the disk, of other jobs, of a server that starts again."""
_RENEW_AGAIN_SECONDS: Final = 1.0


class CutRefusedError(Exception):
    """The server did not do what it was asked; `kind` is its word for why."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind, self.message = kind, message

    def __reduce__(self) -> tuple[type["CutRefusedError"], tuple[str, str]]:
        return type(self), (self.kind, self.message)

    @property
    def may_be_repeated(self) -> bool:
        """Whether the same may work later."""
        return self.kind in _LATER


@dataclass(frozen=True, slots=True)
class HeldLease:
    """A lease that was given, and where its files are."""

    path: Path
    lease: Lease


@dataclass(frozen=True, slots=True)
class Cutter:
    """Asks a server; each request is a connection of its own."""

    control: Path

    def cut(
        self,
        stream: str,
        topic: str,
        *,
        partitions: Sequence[int] | None = None,
        seconds: int,
        shared: bool = False,
    ) -> HeldLease:
        """Makes a lease of what is committed now; a shared one is not released, as others may read it."""
        chosen = None if partitions is None else list(partitions)
        request = {"stream": stream, "topic": topic, "partitions": chosen, "ttl": seconds}
        answer = self._ask(verb="cut", **request, **({"shared": True} if shared else {}))
        return HeldLease(Path(answer["path"]), Lease.of(answer["manifest"]))

    def renew(self, lease: str, seconds: int) -> None:
        """Lets a lease last for so long from now on."""
        self._ask(verb="renew", lease=lease, ttl=seconds)

    def release(self, lease: str) -> None:
        """Ends a lease; one that has ended already is no fault."""
        try:
            self._ask(verb="release", lease=lease)
        except CutRefusedError as error:
            if error.kind != "unknown_lease":
                raise

    def adopt(
        self, lease: str, partition: int, inputs: list[dict[str, int]], outputs: list[dict[str, object]]
    ) -> None:
        """Offers segments below a lease in the place of others that it has."""
        self._ask(verb="adopt", lease=lease, partition=partition, inputs=inputs, outputs=outputs)

    def leases(self) -> list[dict[str, Any]]:
        """Every lease that there is."""
        found: list[dict[str, Any]] = self._ask(verb="leases")["leases"]
        return found

    def _ask(self, **request: object) -> dict[str, Any]:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(_PATIENCE_SECONDS)
                with socket_address(self.control) as address:
                    connection.connect(address)
                connection.sendall(json.dumps(request).encode() + b"\n")
                with connection.makefile("rb") as lines:
                    line = lines.readline(_ANSWER_BYTES_MAX)
        except (FileNotFoundError, ConnectionRefusedError) as error:
            reason = f"no server listens on {self.control}; is it running, with this data directory?"
            raise CutRefusedError("unreachable", reason) from error
        except PermissionError as error:
            reason = f"{self.control} may not be used by this user; the server's control group may"
            raise CutRefusedError("permission", reason) from error
        except OSError as error:
            raise CutRefusedError("unreachable", f"{self.control}: {error}") from error
        if not line.endswith(b"\n"):
            raise CutRefusedError("unreachable", f"the server on {self.control} hung up before it answered")
        return _answer(line)


def _answer(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
        if found["ok"]:
            return dict(found)
        refusal = CutRefusedError(str(found["error"]), str(found["message"]))
    except (ValueError, KeyError, TypeError) as error:
        raise CutRefusedError("no_answer", f"the server said {line[:200]!r}") from error
    raise refusal


@contextmanager
def renewing(cutter: Cutter, lease: str, seconds: int) -> Iterator[None]:
    """Renews a lease thrice in its time, until the block is left."""

    def renew(left: Event) -> None:
        patience = seconds / 3
        while not left.wait(patience):
            try:
                cutter.renew(lease, seconds)
                patience = seconds / 3
            except CutRefusedError as error:
                if error.kind == "unknown_lease":
                    # Readers find out by themselves: the files are gone.
                    return
                # A server that starts again takes the lease up.
                patience = min(patience, _RENEW_AGAIN_SECONDS)

    with beside(f"renews-{lease}", renew):
        yield


@contextmanager
def held(
    control: str | Path,
    stream: str,
    topic: str,
    *,
    partitions: Sequence[int] | None = None,
    seconds: int = 600,
) -> Iterator[HeldLease]:
    """A lease for as long as the block runs: what is read inside is one moment of the topic."""
    cutter = Cutter(Path(control))
    lease = cutter.cut(stream, topic, partitions=partitions, seconds=seconds)
    try:
        with renewing(cutter, lease.lease.lease, seconds):
            yield lease
    finally:
        let_go(cutter, lease.lease.lease)


def let_go(cutter: Cutter, lease: str) -> None:
    """Ends a lease that is of no use any more; if that does not work it runs out, and what was done stays."""
    try:
        cutter.release(lease)
    except CutRefusedError as error:
        _log.warning("lease %s is left to run out: %s", lease, error)
