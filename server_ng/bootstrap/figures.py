"""Figures in the shapes that others want: the engine's for Prometheus, the host's for the engine."""

from server_ng.engine import records
from server_ng.engine.engine import Engine
from server_ng.observe.host import HostFigures
from server_ng.observe.metrics import Sample

__all__ = ["host_record", "native_samples"]


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
