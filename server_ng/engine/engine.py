"""One open engine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from server_ng import binding
from server_ng.engine.settings import EngineSettings
from server_ng.wire.tables import METRIC_CELLS, METRICS, MetricRow

__all__ = ["ALL_SHARDS", "SERIES_PER_SHARD", "Engine", "Figure", "figures_of", "shown_apart"]

ALL_SHARDS: Final = "all"
"""The shard of figures that are sums over all of them."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One value of one metric of one shard."""

    metric: MetricRow
    shard: str
    labels: tuple[tuple[str, str], ...]
    value: int
    """Of a histogram: the sum of what was measured."""
    buckets: tuple[int, ...] = ()
    """Of a histogram: how often each was hit, the last beyond all bounds."""


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

    def figures(self, series_max: int) -> list[Figure]:
        """Every value of every metric, of each shard or, where that were too many series, of all of them."""
        return figures_of(binding.metrics(self._handle), series_max)


def figures_of(cells: Sequence[int], series_max: int) -> list[Figure]:
    """The figures in the cells of some shards, one behind the other."""
    rows = [cells[start : start + METRIC_CELLS] for start in range(0, len(cells), METRIC_CELLS)]
    apart = shown_apart(len(rows), series_max)
    figures = [
        figure
        for shard, row in enumerate(rows)
        for figure in _shard_figures(str(shard), row, lambda metric: metric.name in apart)
    ]
    if len(apart) < len(METRICS):
        sums = [sum(column) for column in zip(*rows, strict=True)]
        figures += _shard_figures(ALL_SHARDS, sums, lambda metric: metric.name not in apart)
    return figures


def shown_apart(shards: int, series_max: int) -> frozenset[str]:
    """The metrics that are shown of each shard, where all can have so many series; the others are sums.

    Those with few series come first, so that many metrics are shown apart. Of two with as many a gauge does,
    because a sum hides a shard that is full while the others are empty.
    """
    apart = set()
    room = series_max - SERIES_PER_SHARD
    for metric in sorted(METRICS, key=lambda metric: (_SERIES[metric.name], metric.kind != "gauge")):
        room -= _SERIES[metric.name] * (shards - 1)
        if room < 0:
            break
        apart.add(metric.name)
    return frozenset(apart)


def _shard_figures(shard: str, cells: Sequence[int], shown: Callable[[MetricRow], bool]) -> list[Figure]:
    return [
        _figure(metric, shard, labels, cells[start : start + _cells_of(metric)])
        for metric in METRICS
        if shown(metric)
        for labels, start in zip(
            _LABELS[metric.name], count(metric.first_cell, _cells_of(metric)), strict=False
        )
    ]


def _figure(
    metric: MetricRow, shard: str, labels: tuple[tuple[str, str], ...], cells: Sequence[int]
) -> Figure:
    *buckets, value = cells
    return Figure(metric, shard, labels, value, tuple(buckets))


def _cells_of(metric: MetricRow) -> int:
    """Cells of one combination of labels: one, or those of a histogram with the sum as the last."""
    return 1 if metric.scale is None else len(metric.scale.bounds) + 2


def _series_of(metric: MetricRow) -> int:
    """Series of one combination of labels: one, or those of a histogram with its sum and its count."""
    return 1 if metric.scale is None else len(metric.scale.bounds) + 3


def _combinations(metric: MetricRow) -> list[tuple[tuple[str, str], ...]]:
    """Every combination of label values, the last label varying fastest, as the cells are laid out."""
    combinations: list[tuple[tuple[str, str], ...]] = [()]
    for label in metric.labels:
        combinations = [(*head, (label.name, value)) for head in combinations for value in label.values]
    return combinations


_LABELS = {metric.name: _combinations(metric) for metric in METRICS}

_SERIES = {metric.name: _series_of(metric) * len(_LABELS[metric.name]) for metric in METRICS}

SERIES_PER_SHARD: Final = sum(_SERIES.values())
"""Series that one shard has."""
