"""Tasks of a query, from its options and what of a lease is wanted."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from server_ng.segments.columns import Selection
from server_ng.segments.lease import Lease, LeaseError
from server_ng.spark.bounds import offsets_of
from server_ng.spark.cutter import Cutter, HeldLease
from server_ng.spark.limits import Limits
from server_ng.spark.options import Options
from server_ng.spark.planning import Range, Scan, pack, ranges
from server_ng.spark.scanning import Kept, Reading, ScanPartition
from server_ng.spark.schema import native_columns

__all__ = ["lease_of", "tasks", "wanted_of"]


def tasks(
    options: Options,
    leased: HeldLease,
    names: Sequence[str],
    found: Iterable[Scan],
    limits: Limits,
    *,
    keep: Path | None = None,
) -> Iterator[ScanPartition]:
    """One for each pack of scans; `keep` is the socket of the server that they ask to keep the lease."""
    selection = Selection(
        columns=native_columns(names),
        min_timestamp=limits.min_timestamp,
        max_timestamp=limits.max_timestamp,
        key=options.key,
        hashed=options.verify,
    )
    reading = Reading(
        directory=leased.path,
        stream=leased.lease.stream,
        topic=leased.lease.topic,
        selection=selection,
        skip_damage=options.skip_damage,
        damage_path=options.damage_path,
        batch_rows=options.batch_rows,
        batch_bytes=options.batch_bytes,
        kept=None if keep is None else Kept(keep, leased.lease.lease, options.lease_seconds),
    )
    packs = pack(
        found,
        bytes_max=options.partition_bytes,
        rows_max=options.partition_rows,
        tasks_min=options.min_partitions,
    )
    for scans in packs:
        yield ScanPartition(reading, scans)


def lease_of(options: Options, *, shared: bool = False) -> HeldLease:
    """The lease that the options name, or a new one."""
    if options.control is not None:
        return Cutter(options.control).cut(
            options.stream,
            options.topic,
            partitions=options.partitions,
            seconds=options.lease_seconds,
            shared=shared,
        )
    lease = Lease.read(options.directory)
    named = (options.stream or lease.stream, options.topic or lease.topic)
    if named != (lease.stream, lease.topic):
        raise LeaseError(f"{options.directory} is a lease of {lease.stream}/{lease.topic}")
    return HeldLease(options.directory, lease)


def wanted_of(options: Options, leased: HeldLease) -> list[Range]:
    """The offsets that the options ask for."""
    start, end = (
        offsets_of(leased.path, leased.lease, bound, skip_damage=options.skip_damage)
        for bound in (options.start, options.end)
    )
    found = ranges(
        leased.lease,
        start,
        end,
        start_everywhere=options.start.everywhere,
        end_everywhere=options.end.everywhere,
        strict=options.fail_on_data_loss,
    )
    return [each for each in found if options.partitions is None or each.cut.partition in options.partitions]
