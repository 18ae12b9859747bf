"""Metrics for Prometheus, read from one snapshot at each scrape."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from typing_extensions import override

__all__ = ["SERIES_MAX", "MetricsPage", "Sample"]

SERIES_MAX = 2_000
_PREFIX = "server_ng_"
# Dashboards and alerts of Iggy look for these under exactly these names.
_UNPREFIXED = frozenset({"frame_drops_total"})
_SERIES_CUT = "server_ng_metric_series_cut"


@dataclass(frozen=True, slots=True)
class Sample:
    """One series at one moment."""

    name: str
    """Without the prefix of the exporter."""
    kind: Literal["counter", "gauge"]
    help: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


class _Snapshot(Collector):
    """Groups the samples of a snapshot into families, up to a bound."""

    def __init__(self, snapshot: Callable[[], Sequence[Sample]], series_max: int) -> None:
        self._snapshot = snapshot
        self._series_max = series_max

    @override
    def collect(self) -> Iterable[Metric]:
        samples = self._snapshot()
        families: dict[str, Metric] = {}
        for sample in samples[: self._series_max]:
            if sample.name not in families:
                families[sample.name] = _family(sample)
            name = _exported(sample.name)
            families[sample.name].add_sample(name, dict(sample.labels), sample.value)
        cut = max(0, len(samples) - self._series_max)
        yield from families.values()
        yield GaugeMetricFamily(
            _SERIES_CUT, "Series left out of this page, because there were too many.", cut
        )

    def describe(self) -> Iterable[Metric]:
        """Nothing: without it, registering would take a snapshot before there is an engine."""
        return ()


def _exported(name: str) -> str:
    return name if name in _UNPREFIXED else f"{_PREFIX}{name}"


def _family(sample: Sample) -> Metric:
    family = CounterMetricFamily if sample.kind == "counter" else GaugeMetricFamily
    return family(_exported(sample.name), sample.help)


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
