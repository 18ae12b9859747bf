"""Lack of disk space, and removals that fail, as the readiness page tells of them."""

from collections import Counter
from collections.abc import Iterable, Iterator

from server_ng.engine.engine import Figure

__all__ = ["space_complaints"]


def space_complaints(figures: Iterable[Figure]) -> Iterator[str]:
    """Sentences about what the shards cannot do now for want of space, or because a removal fails."""
    totals: Counter[str] = Counter()
    for figure in figures:
        totals[figure.metric.name] += int(figure.value)
    if lacking := totals["journal_bytes_lacking"]:
        yield (
            f"The journal cannot go on: it needs {lacking} bytes of disk space for a further file. "
            "Make room on the file system; the log has the reason, and no restart is needed."
        )
    if waiting := totals["partitions_waiting_for_space"]:
        sends = "sends are refused" if totals["refusing_sends"] else "sends will be refused soon"
        yield f"The disk is full: {waiting} partitions wait for space, and {sends}."
    if failing := totals["removals_failing"]:
        yield f"{failing} removals of files fail and are retried; the log has the reason."
