"""One open engine."""

from dataclasses import dataclass

from server_ng import binding
from server_ng.engine.settings import EngineSettings
from server_ng.wire.tables import METRIC_CELLS, METRICS, MetricRow

__all__ = ["Engine", "Figure"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One value of one metric of one shard."""

    metric: MetricRow
    shard: int
    labels: tuple[tuple[str, str], ...]
    value: int


class Engine:
    """A handle and what can be done with it. Its thread is the event loop's, but for `join`."""

    def __init__(self, settings: EngineSettings) -> None:
        """Binds the listener; raises `server_ng.binding.NativeError`."""
        self._handle = binding.open_engine(settings.lines())
        described = binding.describe_engine(self._handle)
        self.tcp_address = described["tcp"]
        """Where TCP clients are accepted, with its real port."""
        self.backend = described["backend"]
        """The I/O backend that was chosen."""
        self.ring_refusal = described["ring_refusal"]
        """Why ``auto`` did not take the ring; empty if it did, or was not asked."""

    @property
    def notify_fd(self) -> int:
        """The eventfd that is readable when there is something to drain."""
        return binding.notify_fd(self._handle)

    def start(self) -> None:
        """Starts the threads and returns at once; a record says how it went."""
        binding.start(self._handle)

    def submit(self, records: bytes) -> None:
        """Hands whole records to the first shard."""
        binding.submit(self._handle, records)

    def drain(self) -> tuple[bytes, bool]:
        """Whole records from the engine, and whether more are waiting."""
        return binding.drain(self._handle)

    def stop(self) -> None:
        """Begins an orderly stop and returns at once; a record says when it is done."""
        binding.stop(self._handle)

    def join(self, timeout_ms: int) -> bool:
        """Waits for the threads; returns whether all ended in order. To be called off the event loop."""
        return binding.join(self._handle, timeout_ms)

    def close(self) -> None:
        """Gives everything back. The threads must have ended, or never begun."""
        binding.close(self._handle)

    def figures(self) -> list[Figure]:
        """Every value of every metric of every shard."""
        cells = binding.metrics(self._handle)
        return [
            figure
            for shard, start in enumerate(range(0, len(cells), METRIC_CELLS))
            for figure in _shard_figures(shard, cells[start : start + METRIC_CELLS])
        ]


def _shard_figures(shard: int, cells: list[int]) -> list[Figure]:
    return [
        Figure(metric, shard, labels, cells[metric.first_cell + offset])
        for metric in METRICS
        for offset, labels in enumerate(_LABELS[metric.name])
    ]


def _combinations(metric: MetricRow) -> list[tuple[tuple[str, str], ...]]:
    """Every combination of label values, the last label varying fastest, as the cells are laid out."""
    combinations: list[tuple[tuple[str, str], ...]] = [()]
    for label in metric.labels:
        combinations = [(*head, (label.name, value)) for head in combinations for value in label.values]
    return combinations


_LABELS = {metric.name: _combinations(metric) for metric in METRICS}
