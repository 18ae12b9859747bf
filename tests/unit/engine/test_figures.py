"""Cells of shards as figures: where each value lies, and what happens with many shards."""

import pytest

from server_ng.engine.engine import ALL_SHARDS, SERIES_PER_SHARD, Figure, figures_of, shown_apart
from server_ng.observe.catalogue import NATIVE_SERIES_MAX
from server_ng.wire.tables import METRIC_CELLS, METRICS

_ROW = list(range(METRIC_CELLS))


def cells_of(figure: Figure) -> list[int]:
    return [*figure.buckets, figure.value]


def test_every_cell_is_in_one_figure_and_in_its_order() -> None:
    figures = figures_of(_ROW, SERIES_PER_SHARD)
    assert [cell for figure in figures for cell in cells_of(figure)] == _ROW
    assert {figure.shard for figure in figures} == {"0"}
    assert len({(figure.metric.name, figure.labels) for figure in figures}) == len(figures)


def test_a_histogram_has_a_bucket_beyond_its_bounds() -> None:
    for figure in figures_of(_ROW, SERIES_PER_SHARD):
        bounds = figure.metric.scale.bounds if figure.metric.scale else None
        assert len(figure.buckets) == (len(bounds) + 1 if bounds else 0)
    assert {metric.kind for metric in METRICS} == {"counter", "gauge", "histogram"}


def rows_of(shards: int) -> list[int]:
    return [1000 * shard + cell for shard in range(shards) for cell in _ROW]


def test_each_shard_has_its_own_figures_while_there_is_room() -> None:
    figures = figures_of(rows_of(2), 2 * SERIES_PER_SHARD)
    assert [figure.shard for figure in figures] == ["0"] * (len(figures) // 2) + ["1"] * (len(figures) // 2)


def test_without_room_the_metric_with_most_series_is_summed_up_first() -> None:
    figures = figures_of(rows_of(2), 2 * SERIES_PER_SHARD - 1)
    (summed,) = {figure.metric.name for figure in figures if figure.shard == ALL_SHARDS}
    assert summed == "request_seconds"
    cells: dict[str, list[int]] = {shard: [] for shard in ("0", "1", ALL_SHARDS)}
    for figure in figures:
        cells[figure.shard] += cells_of(figure)
    assert cells["1"] == [1000 + cell for cell in cells["0"]]
    assert sorted(cells["0"] + [(cell - 1000) // 2 for cell in cells[ALL_SHARDS]]) == _ROW


@pytest.mark.parametrize("shards", [6, 16, 64, 1000])
def test_no_number_of_shards_has_more_series_than_allowed(shards: int) -> None:
    figures = figures_of(rows_of(shards), NATIVE_SERIES_MAX)
    assert sum(len(figure.buckets) + 2 if figure.buckets else 1 for figure in figures) <= NATIVE_SERIES_MAX
    assert {figure.metric.name for figure in figures} == {metric.name for metric in METRICS}


def test_gauges_of_64_shards_are_shown_apart() -> None:
    gauges = {metric.name for metric in METRICS if metric.kind == "gauge" and not metric.labels}
    assert {"journal_live_bytes", "journal_live_bytes_max"} < gauges
    assert gauges < shown_apart(64, NATIVE_SERIES_MAX)
