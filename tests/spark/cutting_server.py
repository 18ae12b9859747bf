"""A control socket whose leases the test writes: what a topic holds is what the test says it holds.

The server's own half has its tests elsewhere; here a topic must be purged, made again and pruned at a chosen
moment between two micro-batches.
"""

import json
import shutil
import socketserver
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from server_ng.segments.lease import SegmentCut
from tests.support.lease_files import WrittenSegment, write_lease

__all__ = ["CuttingServer"]


class CuttingServer:
    """One topic, orders/events, behind a socket."""

    def __init__(self, folder: Path) -> None:
        self.control = folder / "control.sock"
        self.leases = folder / "leases"
        self.leases.mkdir(parents=True)
        self.cuts = self.adopted = 0
        self.renewed: list[tuple[str, int]] = []
        self.refusal: tuple[str, str] | None = None
        self.verbatim: bytes | None = None
        """Said in the place of every answer."""
        self._partitions: Mapping[int, Sequence[WrittenSegment]] = {}
        self._how: dict[str, Any] = {}
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                answer = outer.answer(json.loads(self.rfile.readline()))
                line = json.dumps(answer).encode() + b"\n"
                self.wfile.write(line if outer.verbatim is None else outer.verbatim)

        self._server = socketserver.ThreadingUnixStreamServer(str(self.control), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def holds(self, partitions: Mapping[int, Sequence[WrittenSegment]], **how: Any) -> None:
        """From now on a cut finds this."""
        self._partitions, self._how = partitions, how

    def held(self) -> list[str]:
        """The leases that nobody has released."""
        return sorted(each.name for each in self.leases.iterdir())

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """What the server says to a request."""
        if self.refusal is not None:
            return {"ok": False, "error": self.refusal[0], "message": self.refusal[1]}
        match request["verb"]:
            case "cut":
                return self._cut(request)
            case "renew":
                self.renewed.append((request["lease"], request["ttl"]))
                return {"ok": True, "lease": request["lease"]}
            case "adopt":
                return self._adopt(request)
            case "release":
                shutil.rmtree(self.leases / request["lease"])
                return {"ok": True, "lease": request["lease"]}
            case _:
                return {"ok": True, "leases": [{"lease": name} for name in self.held()]}

    def _adopt(self, request: dict[str, Any]) -> dict[str, Any]:
        """Takes segments in the place of others, if those are still there."""
        number, inputs, outputs = request["partition"], request["inputs"], request["outputs"]
        held = list(self._partitions[number])
        names = [(each.cut.first_offset, each.cut.generation) for each in held]
        wanted = [(each["first_offset"], each["generation"]) for each in inputs]
        at = names.index(wanted[0]) if wanted[0] in names else 0
        if names[at : at + len(wanted)] != wanted:
            return {"ok": False, "error": "fenced", "message": "The inputs are gone."}
        group = Path(held[at].cut.path).parent
        taken = []
        for each in outputs:
            path = self.leases / request["lease"] / each["path"]
            cut = SegmentCut(**{**each, "path": str(group / path.name)})
            taken.append(WrittenSegment(path.read_bytes(), cut))
        held[at : at + len(wanted)] = taken
        self._partitions = {**self._partitions, number: held}
        self.adopted += 1
        return {"ok": True, "partition": number, "generation": outputs[0]["generation"]}

    def _cut(self, request: dict[str, Any]) -> dict[str, Any]:
        self.cuts += 1
        chosen = request["partitions"]
        partitions = {
            number: segments
            for number, segments in self._partitions.items()
            if chosen is None or number in chosen
        }
        path = self.leases / f"cut-{self.cuts}"
        lease = write_lease(path, partitions, **self._how)
        return {
            "ok": True,
            "lease": lease.lease,
            "path": str(path),
            "manifest": json.loads(lease.encode()),
        }
