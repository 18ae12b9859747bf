"""The scrape file and the alerts: they can be read, speak of metrics that exist, and lead to a page."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

from server_ng.config import load
from server_ng.observe.catalogue import CONTROL_METRICS
from server_ng.observe.metrics import SERIES_CUT, exported
from server_ng.wire.tables import METRICS
from tests.support.plain_yaml import PlainYaml, PlainYamlError, parse

_OF_PROMETHEUS = {"up", "process_start_time_seconds"}
_FUNCTIONS = {"sum", "max", "by", "rate", "increase", "changes", "time", "histogram_quantile"}
_LABELS = {"instance", "le", "shard", "job", "variant", "reason", "outcome", "cause", "status"}


def series_names() -> set[str]:
    """Every name that a page of ours can have."""
    names = set(_OF_PROMETHEUS)
    kinds: dict[str, str] = {metric.name: metric.kind for metric in METRICS}
    kinds |= {metric.name: metric.kind for metric in CONTROL_METRICS.values()}
    kinds[SERIES_CUT.name] = SERIES_CUT.kind
    for name, kind in kinds.items():
        parts = ("_bucket", "_count", "_sum") if kind == "histogram" else ("",)
        names |= {exported(name) + part for part in parts}
    return names


def fields(value: PlainYaml) -> dict[str, PlainYaml]:
    """A mapping."""
    assert isinstance(value, dict)
    return value


def rules(root: Path) -> list[dict[str, PlainYaml]]:
    """Every alert."""
    document = fields(parse((root / "deploy/prometheus/alerts.yml").read_text()))
    assert set(document) == {"groups"}
    assert isinstance(document["groups"], list)
    found = []
    for group in document["groups"]:
        assert set(fields(group)) == {"name", "rules"}
        listed = fields(group)["rules"]
        assert isinstance(listed, list)
        found += [fields(rule) for rule in listed]
    return found


def words(expression: str) -> set[str]:
    """The names in an expression, without texts, numbers and durations."""
    bare = re.sub(r'"[^"]*"|\[\w+\]', " ", expression)
    return set(re.findall(r"(?<![\w.])[A-Za-z_]\w*", bare))


def test_each_alert_has_the_parts_that_prometheus_wants(root: Path) -> None:
    found = rules(root)
    names = [str(rule["alert"]) for rule in found]
    assert len(names) == len(set(names))
    for rule in found:
        assert set(rule) - {"for"} == {"alert", "expr", "labels", "annotations"}
        assert fields(rule["labels"])["severity"] in ("warning", "critical")
        assert set(fields(rule["annotations"])) == {"summary", "description", "runbooks"}
        assert re.fullmatch(r"\d+[smh]", str(rule.get("for", "0s")))
        expression = str(rule["expr"])
        assert all(expression.count(one) == expression.count(other) for one, other in ("()", "[]", "{}"))


def test_each_alert_speaks_of_metrics_that_exist(root: Path) -> None:
    for rule in rules(root):
        named = words(str(rule["expr"])) - _FUNCTIONS - _LABELS
        assert named, rule["alert"]
        assert named <= series_names(), rule["alert"]


def test_each_label_value_exists(root: Path) -> None:
    values = defaultdict[str, set[str]](set)
    for label in (label for metric in METRICS for label in metric.labels):
        values[label.name] |= set(label.values)
    for rule in rules(root):
        for label, text in re.findall(r'(\w+)(?:=~|!=|=)"([^"]*)"', str(rule["expr"])):
            if label != "job":
                assert set(text.split("|")) <= values[label], rule["alert"]


def test_each_page_has_an_alert_and_each_alert_a_page(root: Path) -> None:
    folder = root / "deploy/runbooks"
    index = (folder / "README.md").read_text()
    named = set()
    for rule in rules(root):
        pages = str(fields(rule["annotations"])["runbooks"]).split()
        assert pages, rule["alert"]
        named |= set(pages)
        assert f"`{rule['alert']}`" in index
    assert named == {page.name for page in folder.glob("*.md")} - {"README.md"}


def test_the_scrape_file_asks_where_the_server_listens_by_default(root: Path) -> None:
    document = fields(parse((root / "deploy/prometheus/scrape.yml").read_text()))
    assert isinstance(document["scrape_configs"], list)
    (job,) = (fields(entry) for entry in document["scrape_configs"])
    assert (job["job_name"], job["metrics_path"]) == ("server-ng", "/metrics")
    assert job["static_configs"] == [{"targets": [str(load(None, {}, []).settings.observe.address)]}]


@pytest.mark.parametrize(
    "text",
    [
        "a: [1]",
        "a: b: c",
        "a:\n\tb: c",
        "a: b\na: c",
        "a:",
        "a: 'x'",
        "a: |\n  x",
        "a: b #c",
        "  a: b\n c: d",
        'a: "x',
        "just text",
    ],
)
def test_what_could_mean_something_else_is_not_read(text: str) -> None:
    with pytest.raises(PlainYamlError):
        parse(text)
