"""Figures in the shapes that others want: ours and the engine's for Prometheus, the host's for the engine."""

from collections import Counter
from collections.abc import Iterator

from server_ng.engine import records
from server_ng.engine.engine import Engine
from server_ng.observe.host import HostFigures
from server_ng.observe.metrics import Sample
from server_ng.reconciler.observed import Removal
from server_ng.reconciler.steps import Cause
from server_ng.reconciler.task import Reconciler

__all__ = ["host_record", "native_samples", "partition_samples"]


def native_samples(engine: Engine) -> list[Sample]:
    """Every native figure; the shard becomes a label here, for no shard knows it as one."""
    return [
        Sample(
            figure.metric.name,
            figure.metric.kind,
            figure.metric.help,
            figure.value,
            {"shard": str(figure.shard), **dict(figure.labels)},
        )
        for figure in engine.figures()
    ]


def partition_samples(reconciler: Reconciler) -> Iterator[Sample]:
    """How far the partitions are what the metadata says."""
    planner = reconciler.planner
    observed = planner.observed
    tally = planner.tally
    gauges = (
        ("partitions_desired", "Partitions in the metadata.", len(planner.wanted.groups())),
        ("partitions_owned", "Partitions open on their shards.", len(observed.owned)),
        ("partitions_routed", "Partitions that every shard routes to.", observed.routed_everywhere),
        ("partitions_unsettled", "Partitions that are not as the metadata says.", planner.unsettled),
        (
            "reconcile_lag_seconds",
            "Age of the oldest change of a partition not carried out.",
            reconciler.lag(),
        ),
    )
    counters = (
        ("reconcile_passes_total", "Passes begun, of any shard.", tally.passes),
        ("reconcile_examined_total", "Partitions compared with the metadata.", tally.examined),
        ("partitions_materialised_total", "Partitions opened by the reconciler.", tally.materialised),
        ("partitions_removed_total", "Partitions removed, files and all.", tally.removed),
    )
    yield from (Sample(name, "gauge", text, value) for name, text, value in gauges)
    yield from (Sample(name, "counter", text, value) for name, text, value in counters)
    removals = Counter(observed.tombstones.values())
    for state in Removal:
        labels = {"state": state.value}
        yield Sample("partitions_tombstoned", "gauge", "Partitions fenced.", removals[state], labels)
    for cause in Cause:
        labels = {"cause": cause.value}
        text = "Partitions whose last attempt failed."
        yield Sample("partitions_failing", "gauge", text, planner.failing[cause], labels)
        text = "Attempts of the reconciler that failed."
        yield Sample("reconcile_failures_total", "counter", text, planner.failures[cause], labels)


def host_record(figures: HostFigures) -> bytes:
    """The host's figures as a record for the engine."""
    return records.encode_host_figures(
        records.HostFigures(
            cpu_usage=figures.cpu_percent,
            total_cpu_usage=figures.total_cpu_percent,
            memory_usage=figures.memory_bytes,
            total_memory=figures.total_memory_bytes,
            available_memory=figures.available_memory_bytes,
            read_bytes=figures.read_bytes,
            written_bytes=figures.written_bytes,
            threads_count=figures.threads,
            free_disk_space=figures.free_disk_bytes,
            total_disk_space=figures.total_disk_bytes,
            hostname=figures.hostname,
            os_name=figures.os_name,
            os_version=figures.os_version,
            kernel_version=figures.kernel_version,
        )
    )
