"""Cells of shards as figures: where each value lies, and what happens with many shards."""

from server_ng.engine.engine import ALL_SHARDS, SERIES_PER_SHARD, Figure, figures_of
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


def test_each_shard_has_its_own_figures_while_there_is_room_and_then_there_are_sums() -> None:
    two = [*_ROW, *(1000 + cell for cell in _ROW)]
    apart = figures_of(two, 2 * SERIES_PER_SHARD)
    assert [figure.shard for figure in apart] == ["0"] * (len(apart) // 2) + ["1"] * (len(apart) // 2)
    together = figures_of(two, 2 * SERIES_PER_SHARD - 1)
    assert {figure.shard for figure in together} == {ALL_SHARDS}
    assert [cell for figure in together for cell in cells_of(figure)] == [1000 + 2 * cell for cell in _ROW]
