"""Figures in the shapes that others want: ours and the engine's for Prometheus, the host's for the engine."""

import math
from collections import Counter
from collections.abc import Iterator

from server_ng.engine import records
from server_ng.engine.engine import Engine, Figure
from server_ng.observe.catalogue import NATIVE_SERIES_MAX, sample
from server_ng.observe.host import HostFigures
from server_ng.observe.metrics import Sample
from server_ng.reconciler.observed import Removal
from server_ng.reconciler.steps import Cause
from server_ng.reconciler.task import Reconciler

__all__ = ["host_record", "host_samples", "native_samples", "partition_samples"]


def native_samples(engine: Engine) -> list[Sample]:
    """Every native figure; the shard becomes a label here, for no shard knows it as one."""
    return [_native_sample(figure) for figure in engine.figures(NATIVE_SERIES_MAX)]


def _native_sample(figure: Figure) -> Sample:
    metric, scale = figure.metric, figure.metric.scale
    labels = {"shard": figure.shard, **dict(figure.labels)}
    if scale is None:
        return Sample(metric.name, metric.kind, metric.help, figure.value, labels)
    bounds = [*(bound / scale.per_unit for bound in scale.bounds), math.inf]
    buckets = tuple(zip(bounds, figure.buckets, strict=True))
    return Sample(metric.name, metric.kind, metric.help, figure.value / scale.per_unit, labels, buckets)


def partition_samples(reconciler: Reconciler) -> Iterator[Sample]:
    """How far the partitions are what the metadata says."""
    planner = reconciler.planner
    observed = planner.observed
    tally = planner.tally
    yield sample("partitions_desired", len(planner.wanted.groups()))
    yield sample("partitions_owned", len(observed.owned))
    yield sample("partitions_routed", observed.routed_everywhere)
    yield sample("partitions_unsettled", planner.unsettled)
    yield sample("reconcile_lag_seconds", reconciler.lag())
    yield sample("reconcile_revision_wanted", planner.wanted.revision)
    yield sample("reconcile_revision_reached", planner.converged_revision)
    yield sample("reconcile_passes_total", tally.passes)
    yield sample("reconcile_examined_total", tally.examined)
    yield sample("partitions_materialised_total", tally.materialised)
    yield sample("partitions_removed_total", tally.removed)
    removals = Counter(observed.tombstones.values())
    for state in Removal:
        yield sample("partitions_tombstoned", removals[state], state=state.value)
    for cause in Cause:
        yield sample("partitions_failing", planner.failing[cause], cause=cause.value)
        yield sample("reconcile_failures_total", planner.failures[cause], cause=cause.value)


def host_samples(figures: HostFigures) -> Iterator[Sample]:
    """How much room there is for data."""
    yield sample("data_disk_bytes", figures.total_disk_bytes)
    yield sample("data_disk_free_bytes", figures.free_disk_bytes)


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
