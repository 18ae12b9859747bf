"""The metrics page: names, labels, and its bound."""

import math
from collections.abc import Sequence

from prometheus_client.parser import text_string_to_metric_families

from server_ng.observe.metrics import MetricsPage, Sample

_DROPS = Sample(
    "frame_drops_total", "counter", "Drops.", 3, {"shard": "0", "variant": "client_request", "reason": "full"}
)
_OPEN = [Sample("connections_open", "gauge", "Open.", n + 1, {"shard": str(n)}) for n in range(2)]
_TOOK = Sample("took_seconds", "histogram", "Took.", 12.5, {}, ((0.001, 2), (1.0, 3), (math.inf, 4)))


def series(page: MetricsPage) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    text, content_type = page.render("")
    assert content_type.startswith("text/plain")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def test_names_have_the_prefix_except_the_one_that_iggy_has() -> None:
    found = series(MetricsPage(lambda: [_DROPS, *_OPEN]))
    assert found["frame_drops_total", frozenset(_DROPS.labels.items())] == 3
    assert found["server_ng_connections_open", frozenset({("shard", "0")})] == 1
    assert found["server_ng_connections_open", frozenset({("shard", "1")})] == 2
    assert not any(name.startswith("server_ng_frame_drops") for name, _ in found)


def test_a_family_is_described_once_with_its_kind() -> None:
    text = MetricsPage(lambda: [_OPEN[0], _DROPS, _OPEN[1]]).render("")[0].decode()
    assert text.count("# TYPE server_ng_connections_open gauge") == 1
    assert text.count("# TYPE frame_drops_total counter") == 1
    assert "# HELP server_ng_connections_open Open." in text


def test_the_figures_of_the_process_are_there() -> None:
    found = series(MetricsPage(list))
    assert found["process_resident_memory_bytes", frozenset()] > 0
    assert ("process_open_fds", frozenset()) in found


def test_each_page_is_a_fresh_snapshot_and_registering_takes_none() -> None:
    taken: list[None] = []

    def snapshot() -> Sequence[Sample]:
        taken.append(None)
        return [Sample("turns_total", "counter", "Turns.", len(taken))]

    page = MetricsPage(snapshot)
    assert taken == []
    assert series(page)["server_ng_turns_total", frozenset()] == 1
    assert series(page)["server_ng_turns_total", frozenset()] == 2


def test_there_are_never_more_series_than_the_bound_and_the_rest_is_counted() -> None:
    many = [Sample("connections_open", "gauge", "Open.", 1, {"shard": str(n)}) for n in range(5_000)]
    found = series(MetricsPage(lambda: many))
    assert len(found) == 2_000
    kept = sum(name == "server_ng_connections_open" for name, _ in found)
    assert found["server_ng_metric_series_cut", frozenset()] == 5_000 - kept
    assert series(MetricsPage(lambda: _OPEN))["server_ng_metric_series_cut", frozenset()] == 0


def test_a_histogram_has_cumulative_buckets_a_count_and_a_sum() -> None:
    found = series(MetricsPage(lambda: [_TOOK]))
    buckets = [
        found["server_ng_took_seconds_bucket", frozenset({("le", le)})] for le in ("0.001", "1.0", "+Inf")
    ]
    assert buckets == [2, 5, 9]
    assert found["server_ng_took_seconds_count", frozenset()] == 9
    assert found["server_ng_took_seconds_sum", frozenset()] == 12.5


def test_a_histogram_is_shown_whole_or_not_at_all() -> None:
    for room in range(60):
        found = series(MetricsPage(lambda: [_OPEN[0], _TOOK, _OPEN[1]], room))
        shown = sum(name.startswith("server_ng_took_seconds") for name, _ in found)
        kept = shown + sum(name == "server_ng_connections_open" for name, _ in found)
        assert shown in (0, 5)
        assert found["server_ng_metric_series_cut", frozenset()] == 7 - kept


def test_open_metrics_are_served_to_who_asks_for_them() -> None:
    page = MetricsPage(lambda: [_DROPS, _TOOK])
    text, content_type = page.render("application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert text.decode().endswith("# EOF\n")


def test_a_label_value_cannot_break_the_page() -> None:
    hostile = Sample("topics", "gauge", "T.", 1, {"topic": 'a"} 1\nfake_metric 7\\'})
    found = series(MetricsPage(lambda: [hostile]))
    assert found["server_ng_topics", frozenset(hostile.labels.items())] == 1
    assert not any(name == "fake_metric" for name, _ in found)


def test_a_version_that_is_none_gets_the_plain_form() -> None:
    page, content_type = MetricsPage(list).render("application/openmetrics-text;version=zzz")
    assert content_type.startswith("text/plain")
    assert page
