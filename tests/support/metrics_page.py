"""Figures of a metrics page."""

from collections.abc import Iterable
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

__all__ = ["Counters", "parse"]


@dataclass(frozen=True, slots=True)
class Series:
    """One figure."""

    name: str
    labels: dict[str, str]
    value: float


class Counters:
    """The figures of one page."""

    def __init__(self, series: Iterable[Series]) -> None:
        self._series = list(series)

    def total(self, name: str, **labels: str) -> float:
        """The sum of every series with this name and these labels; the prefix of the server is left out."""
        found = [
            series.value
            for series in self._series
            if series.name in (name, f"server_ng_{name}") and labels.items() <= series.labels.items()
        ]
        assert found, f"no figure is called {name}{labels}"
        return sum(found)

    def split(self, name: str, by: str, **labels: str) -> dict[str, float]:
        """The same for each value of one more label."""
        values = {series.labels[by] for series in self._series if by in series.labels}
        chosen = {value: {**labels, by: value} for value in values}
        return {value: self.total(name, **only) for value, only in chosen.items() if self._any(name, only)}

    def _any(self, name: str, labels: dict[str, str]) -> bool:
        return any(
            series.name == f"server_ng_{name}" and labels.items() <= series.labels.items()
            for series in self._series
        )

    def has(self, name: str) -> bool:
        """Whether there is any series with this name."""
        return self._any(name, {})

    def shards(self) -> set[str]:
        """The shards that have figures."""
        return {series.labels["shard"] for series in self._series if "shard" in series.labels}

    def by_labels(self, name: str, *labels: str) -> dict[tuple[str, ...], float]:
        """The series of a name that are not zero, by the values of these labels."""
        return {
            tuple(series.labels[label] for label in labels): series.value
            for series in self._series
            if series.name == name and series.value
        }

    def nonzero(self, name: str) -> dict[str, float]:
        """The series of a name that are not zero, by their labels."""
        return {
            str(series.labels): series.value
            for series in self._series
            if series.name == name and series.value
        }


def parse(page: str) -> Counters:
    """The figures of a page in the text format."""
    return Counters(
        Series(sample.name, dict(sample.labels), float(sample.value))
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    )
