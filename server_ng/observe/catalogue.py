"""The metrics of the control plane, and a page with all metrics."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from types import MappingProxyType
from typing import Final

from server_ng.engine.engine import SERIES_PER_SHARD, shown_apart
from server_ng.observe.metrics import SERIES_CUT, SERIES_MAX, Kind, Sample, exported
from server_ng.wire.tables import METRICS

__all__ = ["CONTROL_METRICS", "NATIVE_SERIES_MAX", "ControlMetric", "metrics_page", "sample"]

NATIVE_SERIES_MAX: Final = SERIES_MAX * 9 // 10
"""Series of the shards; the rest of the page is for the control plane and the process."""
_SHARDS_SHOWN: Final = NATIVE_SERIES_MAX // SERIES_PER_SHARD
_GAUGES: Final = {metric.name for metric in METRICS if metric.kind == "gauge" and not metric.labels}
_SHARDS_WITH_GAUGES: Final = next(
    shards for shards in count(_SHARDS_SHOWN) if not shown_apart(shards + 1, NATIVE_SERIES_MAX) >= _GAUGES
)


@dataclass(frozen=True, slots=True)
class ControlMetric:
    """A metric of the control plane, once per process."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()


_ALL: Final = (
    ControlMetric("apply_faults_total", "counter", "Metadata operations that failed because of a bug."),
    ControlMetric("partitions_desired", "gauge", "Partitions in the metadata."),
    ControlMetric("partitions_owned", "gauge", "Partitions open on their shards."),
    ControlMetric("partitions_routed", "gauge", "Partitions that every shard routes to."),
    ControlMetric("partitions_unsettled", "gauge", "Partitions that differ from the metadata."),
    ControlMetric(
        "partitions_tombstoned",
        "gauge",
        "Partitions with a tombstone, by state of their removal.",
        ("state",),
    ),
    ControlMetric("partitions_failing", "gauge", "Partitions whose last attempt failed.", ("cause",)),
    ControlMetric("partitions_materialised_total", "counter", "Partitions opened by the reconciler."),
    ControlMetric("partitions_removed_total", "counter", "Partitions removed, including their files."),
    ControlMetric("reconcile_passes_total", "counter", "Passes that the reconciler began, on any shard."),
    ControlMetric("reconcile_examined_total", "counter", "Partitions compared with the metadata."),
    ControlMetric(
        "reconcile_failures_total", "counter", "Attempts of the reconciler that failed.", ("cause",)
    ),
    ControlMetric("reconcile_lag_seconds", "gauge", "Age of the oldest pending change of a partition."),
    ControlMetric("reconcile_revision_wanted", "gauge", "The current revision of the metadata."),
    ControlMetric(
        "reconcile_revision_reached",
        "gauge",
        "The revision that all shards have reached, except for partitions that keep failing.",
    ),
    ControlMetric("leases", "gauge", "Leases of offline jobs."),
    ControlMetric("leases_bytes", "gauge", "Bytes of segments pinned by leases."),
    ControlMetric("leases_made_total", "counter", "Leases created."),
    ControlMetric("leases_expired_total", "counter", "Leases that expired before a job released them."),
    ControlMetric("compaction_adopted_total", "counter", "Compacted segments that replaced others."),
    ControlMetric(
        "compaction_refused_total", "counter", "Refused requests to adopt segments, by reason.", ("reason",)
    ),
    ControlMetric("audit_lines_total", "counter", "Lines written to the audit file."),
    ControlMetric(
        "audit_lines_lost_total", "counter", "Audit lines lost because the disk or their queue was full."
    ),
    ControlMetric("data_disk_bytes", "gauge", "Size of the file system of the data directory."),
    ControlMetric("data_disk_free_bytes", "gauge", "Free bytes on the file system of the data directory."),
    ControlMetric(
        "last_crash_timestamp_seconds",
        "gauge",
        "Time of the last crash of a run on this data directory.",
        ("status",),
    ),
)

CONTROL_METRICS: Mapping[str, ControlMetric] = MappingProxyType({metric.name: metric for metric in _ALL})
"""Every metric of the control plane, by its name without the prefix."""


def sample(name: str, value: float, **labels: str) -> Sample:
    """A value of a metric of `CONTROL_METRICS`."""
    metric = CONTROL_METRICS[name]
    return Sample(metric.name, metric.kind, metric.help, value, labels)


_HEAD: Final = f"""\
# Metrics

`/metrics` of the loopback listener (`observe.address`) shows these metrics, in the text format of Prometheus
or as OpenMetrics. `deploy/prometheus` has a scrape file and alerts. This page is generated:
`server-ng inspect metrics` prints it.

A page has at most {SERIES_MAX:,} series, and one shard has {SERIES_PER_SHARD}. So with more than
{_SHARDS_SHOWN} shards, the metrics with the most series are summed over all shards, and their `shard` is
`all`. Gauges without other labels stay separate for up to {_SHARDS_WITH_GAUGES} shards. The page also has the
figures of the process, `process_*`. A histogram has `_bucket`, `_count` and `_sum`.
"""


def metrics_page() -> str:
    """Every metric with its labels and meaning, in Markdown."""
    return "\n".join((_HEAD, *_native(), "", *_control())) + "\n"


def _native() -> Iterator[str]:
    yield "## Each shard\n\n| Metric | Kind | Labels | Meaning |\n|---|---|---|---|"
    for metric in METRICS:
        labels = ("shard", *(label.name for label in metric.labels))
        yield _row(metric.name, metric.kind, labels, metric.help)
    values = {
        label.name: label.values for metric in METRICS for label in metric.labels if label.name == "class"
    }
    for name, words in values.items():
        yield f"\n`{name}` is one of {', '.join(f'`{word}`' for word in words)}."


def _control() -> Iterator[str]:
    yield "## The control plane\n\n| Metric | Kind | Labels | Meaning |\n|---|---|---|---|"
    for metric in CONTROL_METRICS.values():
        yield _row(metric.name, metric.kind, metric.labels, metric.help)
    yield _row(SERIES_CUT.name, SERIES_CUT.kind, (), SERIES_CUT.help)


def _row(name: str, kind: Kind, labels: tuple[str, ...], text: str) -> str:
    shown = ", ".join(f"`{label}`" for label in labels)
    return f"| `{exported(name)}` | {kind} | {shown} | {text} |"
