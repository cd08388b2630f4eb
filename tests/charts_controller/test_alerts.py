"""Each alert fires for what it is about and for nothing else: alert_samples.yaml says what, over time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from promql_parser import MatchOp

from controller.adapters.system.metrics import PrometheusMetrics
from controller.domain.api.names import CONTAINERS
from controller.domain.shared import metrics
from controller.reconcile.shared.status_metrics import measured_bundle
from tests.charts_controller.promql import STEP, Series, Unsupported, evaluate, firing
from tests.charts_controller.test_monitoring import ALERTS, DASHBOARD, KNOWN, PROCESS_METRICS, TARGET_LABELS

SAMPLES: list[dict[str, Any]] = yaml.load(
    Path(__file__).with_name("alert_samples.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader
)
# As a PodMonitor labels what it scrapes of a pod.
TARGET = {
    "namespace": "controllers",
    "pod": "openstack-controller-5d9",
    "container": "helmbundle",
    "job": "controllers/openstack-controller",
    "endpoint": "helmbundle",
    "instance": "10.0.0.1:8082",
    # Of every series.
    "region": "one",
    "region_namespace": "openstack",
}
SECONDS_OF_VALUE = re.compile(r"(-?)(\d+(?:\.\d+)?)([a-z]*)")


def number(text: str) -> float:
    """`7`, or a duration as seconds: `13d`, `-7h`."""
    reported = SECONDS_OF_VALUE.fullmatch(text)
    assert reported, f"{text} is no value"
    sign, digits, unit = reported.groups()
    amount = promql_parser.parse_duration(digits + unit).total_seconds() if unit else float(digits)
    return -amount if sign else amount


def scrapes(text: str) -> list[float | None]:
    """What scrapes find, one after the other: `0 for 10m, 0 to 60 in 1h, none for 5m`."""
    found: list[float | None] = []
    for part in text.split(","):
        words = part.split()
        count = int(promql_parser.parse_duration(words[-1]).total_seconds() / STEP)
        if words[1:2] == ["for"] and len(words) == 3:
            found += [None if words[0] == "none" else number(words[0])] * count
        elif words[1::2] == ["to", "in"] and len(words) == 5:
            first, last = number(words[0]), number(words[2])
            found += [first + (last - first) * step / count for step in range(1, count + 1)]
        else:
            raise AssertionError(f"neither `1 for 5m` nor `0 to 60 in 1h`: {part}")
    return found


def sampled(selector: str, text: str) -> Series:
    """The series of one line of the table."""
    parsed: Any = promql_parser.parse(selector)
    assert all(one.op == MatchOp.Equal for one in parsed.matchers.matchers), selector
    labels = {one.name: one.value for one in parsed.matchers.matchers}
    if parsed.name not in PROCESS_METRICS:
        assert set(labels) - TARGET_LABELS == set(KNOWN[parsed.name].labels), f"{selector} lacks labels"
    samples: list[tuple[float, float | None]] = []
    for step, value in enumerate(scrapes(text)):
        # One marker where it ends, nothing before it began.
        if value is not None or (samples and samples[-1][1] is not None):
            samples.append((step * STEP, value))
    return Series(parsed.name, {**TARGET, **labels}, samples)


def fired(rule: Mapping[str, Any], given: Mapping[str, Any]) -> list[list[dict[str, str]]]:
    """The labels of what fires, at each evaluation."""
    series = [sampled(selector, str(text)) for selector, text in given.items()]
    last = max(len(scrapes(str(text))) for text in given.values()) - 1
    return [[dict(labels) for labels in found] for found in firing(rule, series, last * STEP)]


def rule_of(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    desired = entry.get("with", {}).items()
    [rule] = [one for one in ALERTS if one["alert"] == entry["alert"] and desired <= one["labels"].items()]
    return rule


def cases(kind: str) -> list[Any]:
    found = []
    for entry in SAMPLES:
        for case in entry[kind]:
            why = case.get("what") or case.get("because") or ""
            reported = " ".join([entry["alert"], *entry.get("with", {}).values(), why]).strip()
            found.append(pytest.param(entry, case, id=reported))
    return found


@pytest.mark.parametrize(("entry", "case"), cases("fires"))
def test_it_fires(entry: Mapping[str, Any], case: Mapping[str, Any]) -> None:
    rule = rule_of(entry)
    found = fired(rule, case["given"])[-1]
    assert len(found) == 1, found
    assert case["labels"].items() <= found[0].items()
    texts = " ".join(rule["annotations"].values())
    assert set(re.findall(r"\$labels\.(\w+)", texts)) <= found[0].keys()


@pytest.mark.parametrize(("entry", "case"), cases("silent"))
def test_it_is_silent(entry: Mapping[str, Any], case: Mapping[str, Any]) -> None:
    assert [found for found in fired(rule_of(entry), case["given"]) if found] == []


def test_every_alert_has_samples_of_both_kinds() -> None:
    reported = Counter(str(rule_of(entry)["expr"]) for entry in SAMPLES)
    assert reported == Counter(str(rule["expr"]) for rule in ALERTS)
    assert all(entry["fires"] and entry["silent"] for entry in SAMPLES)


# from what a container exports


def scraped(recorder: PrometheusMetrics) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    families = text_string_to_metric_families(recorder.exposition("")[0].decode())
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def recorded(exports: Sequence[dict[tuple[str, frozenset[tuple[str, str]]], float]]) -> list[Series]:
    """Series of scrapes that follow one another."""
    keys = {key for export in exports for key in export}
    return [
        Series(
            name,
            {**TARGET, **dict(labels)},
            [(step * STEP, export.get((name, labels))) for step, export in enumerate(exports)],
        )
        for name, labels in keys
    ]


def test_three_processes_that_each_find_a_release_cut_off_are_reported() -> None:
    """Each has its own registry, and reads from the status what the ones before have counted."""
    exports = []
    for unlocks in range(4):
        recorder = PrometheusMetrics("helmbundle")
        release = {"name": "nova", "state": "Failed", **({"unlocks": unlocks} if unlocks else {})}
        measured_bundle(recorder)(None, {"metadata": {"name": "compute"}, "status": {"releases": [release]}})
        exports += [scraped(recorder)] * 20 + [{}]
    rule = rule_of({"alert": "OpenStackReleaseUnlockedOften"})
    reported = firing(rule, recorded(exports), (len(exports) - 2) * STEP)
    [(labels, value)] = reported[-1].items()
    assert (dict(labels)["release"], value) == ("nova", 3)
    assert [found for found in reported[:60] if found] == []


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_scrape_finds_the_names_that_rules_and_panels_ask_for(container: str) -> None:
    recorder = PrometheusMetrics(container, region_namespace="openstack")
    recorder.name_region("region-one")
    for metric in (*metrics.EVERY_CONTAINER, *metrics.BY_CONTAINER[container]):
        labels = dict.fromkeys(metric.labels, "x")
        if isinstance(metric, metrics.Counter):
            recorder.count(metric, **labels)
        elif isinstance(metric, metrics.Gauge):
            recorder.set(metric, 1, **labels)
        else:
            recorder.observe(metric, 1, **labels)
        found = {name: dict(series).keys() for name, series in scraped(recorder)}
        for name in (name for name, known in KNOWN.items() if known is metric):
            assert found[name] - {"le"} == {*metric.labels, *metrics.SHARED_LABELS}


def test_panels_ask_for_no_counter_without_what_it_grew_by() -> None:
    asked = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]
    counters = {name for name, known in KNOWN.items() if not isinstance(known, metrics.Gauge)}
    for expression in asked:
        bare = re.sub(r"\b(?:rate|increase)\([^()]*\)", "", expression)
        assert not counters & set(re.findall(r"\w+", bare)), expression


# the evaluator


def ramp(*values: float | None) -> Series:
    return Series("up", {}, [(step * 60.0, value) for step, value in enumerate(values)])


def only(expression: str, series: Series, now: float) -> float | None:
    found = evaluate(expression, [series], now)
    return next(iter(found.values()), None)


def test_a_counter_that_is_born_with_one_has_not_increased() -> None:
    assert only("increase(up[10m])", ramp(1, 1, 1, 1), 180) == 0


def test_an_increase_is_extrapolated_and_a_fall_is_a_new_beginning() -> None:
    """To the beginning of the range where samples are as dense as that, else by half the usual pause."""
    assert only("increase(up[5m])", ramp(0, 10, 20, 30, 40, 50), 300) == pytest.approx(50)
    assert only("increase(up[5m])", ramp(100, 110, 0, 10), 180) == pytest.approx(20 * 210 / 180)


def test_an_instant_is_at_most_five_minutes_old_and_ends_where_the_series_does() -> None:
    assert only("up", ramp(1), 299) == 1
    assert only("up", ramp(1), 300) is None
    assert only("up", ramp(1, None), 61) is None


def test_changes_count_values_that_differ_over_gaps_too() -> None:
    assert only("changes(up[10m])", ramp(1, 1, None, 2, 2, 3), 300) == 2


def test_nothing_unknown_is_passed_over() -> None:
    for expression in (
        "rate(up[5m])",
        "up offset 5m",
        "sum without (a) (up)",
        "topk(3, up)",
        "up > bool 1",
        "up * on (a) group_left (b) up",
        "-up",
        "up / up",
        "max_over_time(up[5m:1m])",
        "vector(1)",
    ):
        with pytest.raises(Unsupported):
            evaluate(expression, [ramp(1)], 0)
