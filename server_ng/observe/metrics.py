"""Metrics for Prometheus, read from one snapshot at each scrape."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from typing_extensions import override

__all__ = ["SERIES_CUT", "SERIES_MAX", "Kind", "MetricsPage", "Sample", "exported"]

Kind: TypeAlias = Literal["counter", "gauge", "histogram"]
_FAMILIES: Mapping[Kind, Callable[[str, str], Metric]] = {
    "counter": CounterMetricFamily,
    "gauge": GaugeMetricFamily,
    "histogram": HistogramMetricFamily,
}

SERIES_MAX = 2_000
_PREFIX = "server_ng_"
# Dashboards and alerts of Iggy look for these under exactly these names.
_UNPREFIXED = frozenset({"frame_drops_total"})


@dataclass(frozen=True, slots=True)
class Sample:
    """One series at one moment."""

    name: str
    """Without the prefix of the exporter."""
    kind: Kind
    help: str
    value: float
    """Of a histogram: the sum of what was measured."""
    labels: Mapping[str, str] = field(default_factory=dict)
    buckets: tuple[tuple[float, int], ...] = ()
    """Of a histogram: the largest value of each bucket and how often it was hit; the last one has no end."""

    @property
    def series(self) -> int:
        """How many series it is."""
        return len(self.buckets) + 2 if self.kind == "histogram" else 1

    def rows(self) -> Iterator[tuple[str, Mapping[str, str], float]]:
        """Names, labels and values of these series."""
        name = exported(self.name)
        if self.kind != "histogram":
            yield name, self.labels, self.value
            return
        total = 0
        for bound, hits in self.buckets:
            total += hits
            yield f"{name}_bucket", {**self.labels, "le": _shown(bound)}, total
        yield f"{name}_count", self.labels, total
        yield f"{name}_sum", self.labels, self.value


SERIES_CUT = Sample(
    "metric_series_cut", "gauge", "Series left out of this page, because there were too many.", 0
)


class _Snapshot(Collector):
    """Groups the samples of a snapshot into families, up to a bound."""

    def __init__(self, snapshot: Callable[[], Sequence[Sample]], series_max: int) -> None:
        self._snapshot = snapshot
        self._series_max = series_max

    @override
    def collect(self) -> Iterable[Metric]:
        samples = self._snapshot()
        families: dict[str, Metric] = {}
        room, cut = self._series_max, 0
        for sample in samples:
            if sample.series > room:
                room, cut = 0, cut + sample.series
                continue
            room -= sample.series
            if sample.name not in families:
                families[sample.name] = _family(sample)
            for name, labels, value in sample.rows():
                families[sample.name].add_sample(name, dict(labels), value)
        yield from families.values()
        yield GaugeMetricFamily(exported(SERIES_CUT.name), SERIES_CUT.help, cut)

    def describe(self) -> Iterable[Metric]:
        """Nothing: without it, registering would take a snapshot before there is an engine."""
        return ()


def _shown(bound: float) -> str:
    return "+Inf" if math.isinf(bound) else repr(float(bound))


def exported(name: str) -> str:
    """The name on the page."""
    return name if name in _UNPREFIXED else f"{_PREFIX}{name}"


def _family(sample: Sample) -> Metric:
    return _FAMILIES[sample.kind](exported(sample.name), sample.help)


class MetricsPage:
    """The page at ``/metrics``: the snapshot's series and the figures of the process."""

    def __init__(self, snapshot: Callable[[], Sequence[Sample]], series_max: int = SERIES_MAX) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        process = ProcessCollector(registry=self._registry)
        # The figures of the process and the count of what was cut are part of the bound.
        reserved = 1 + sum(len(metric.samples) for metric in process.collect())
        self._registry.register(_Snapshot(snapshot, max(0, series_max - reserved)))

    def render(self, accept: str) -> tuple[bytes, str]:
        """The page and its content type, in the form that the Accept header prefers."""
        try:
            encoder, content_type = choose_encoder(accept)
        except (TypeError, ValueError):
            # A version in the header that is none: who asks so gets the plain form.
            encoder, content_type = choose_encoder("")
        return encoder(self._registry), content_type
