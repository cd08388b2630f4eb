"""What the chart ships for Prometheus and Grafana: every expression parses and asks for what there is."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import promql_parser
import pytest
import yaml

from controller.domain.api.names import CONTAINERS
from controller.domain.shared import metrics
from controller.domain.shared.metrics import SHARED_LABELS, Counter, Histogram, Metric
from tests.charts_controller.test_chart_render import _of, _render
from tests.fakes.metrics import ALL_METRICS
from tools.chart_objects import CONTROLLER_CHART

ROOT = Path(__file__).parents[2]
MONITORING = CONTROLLER_CHART / "files" / "monitoring"
GROUPS: list[dict[str, Any]] = yaml.load(
    (MONITORING / "alerts.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader
)["groups"]
ALERTS: list[dict[str, Any]] = [rule for group in GROUPS for rule in group["rules"]]
DASHBOARD: dict[str, Any] = json.loads((MONITORING / "dashboard.json").read_text(encoding="utf-8"))
RUNBOOKS = ROOT / "docs" / "runbooks"
# Labels that Prometheus gives to all that it scrapes of a pod.
TARGET_LABELS = {"namespace", "pod", "container", "job", "instance", "endpoint"}
# What prometheus-client measures of every process.
PROCESS_METRICS = {"process_resident_memory_bytes", "process_cpu_seconds_total", "process_start_time_seconds"}
# Where the tests install the chart.
NAMESPACE = "controllers"
SECTIONS = ["What it means", "What it does to the region", "What to look at", "What to do"]


def _sent(expression: str) -> str:
    return expression.replace("$region", ".*").replace("$namespace", ".*")


def expressions() -> dict[str, str]:
    """Every expression by where it stands."""
    found = {f"alert {rule['alert']} {sorted(rule['labels'].values())}": str(rule["expr"]) for rule in ALERTS}
    assert len(found) == len(ALERTS)
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", []):
            # As Grafana sends it: a variable of the dashboard replaced by what was chosen.
            found[f"panel {panel['title']} {target['refId']}"] = _sent(target["expr"])
    return found


EXPRESSIONS = expressions()


def series_names(metric: Metric) -> set[str]:
    if isinstance(metric, Histogram):
        return {f"{metric.name}{end}" for end in ("_bucket", "_sum", "_count")}
    return {metric.name}


KNOWN: dict[str, Metric] = {name: metric for metric in ALL_METRICS for name in series_names(metric)}


def selectors(expression: str) -> Iterator[Any]:
    found: list[Any] = []

    def visit(node: Any) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            found.append(node)

    promql_parser.walk(promql_parser.parse(expression), visit, lambda _: None)
    yield from found


def labels_of(expression: str) -> set[str]:
    """The labels that results of the expression may have."""
    known = (KNOWN.get(selector.name) for selector in selectors(expression))
    return (
        TARGET_LABELS | set(SHARED_LABELS) | {label for metric in known if metric for label in metric.labels}
    )


def grouped_by(expression: str) -> set[str]:
    return {
        name.strip()
        for names in re.findall(r"\b(?:by|on|group_left)\s*\(([^)]*)\)", expression)
        for name in names.split(",")
    } - {"le"}


def test_there_are_expressions_of_both_kinds() -> None:
    assert len(ALERTS) > 15
    assert len(EXPRESSIONS) > 50


@pytest.mark.parametrize("place", EXPRESSIONS)
def test_every_expression_parses_and_asks_for_metrics_and_labels_that_exist(place: str) -> None:
    expression = EXPRESSIONS[place]
    asked = list(selectors(expression))
    assert asked, expression
    for selector in asked:
        assert selector.name in KNOWN or selector.name in PROCESS_METRICS, selector.name
        metric = KNOWN.get(selector.name)
        own = {*metric.labels, *SHARED_LABELS} if metric else set(SHARED_LABELS)
        assert {matcher.name for matcher in selector.matchers.matchers} <= own | TARGET_LABELS
    assert grouped_by(expression) <= labels_of(expression)


@pytest.mark.parametrize("place", EXPRESSIONS)
def test_rates_are_of_counters_and_of_nothing_else(place: str) -> None:
    for name in re.findall(r"\b(?:rate|increase|irate)\(\s*(\w+)", EXPRESSIONS[place]):
        assert name in PROCESS_METRICS or isinstance(KNOWN[name], Counter | Histogram), name


def test_a_misspelt_metric_would_be_found() -> None:
    [selector] = selectors('rate(osctl_release_unlock_total{release="nova"}[5m])')
    assert selector.name not in KNOWN


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_says_how_bad_it_is_and_names_only_labels_that_it_has(rule: Mapping[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    text = f"{rule['annotations']['summary']} {rule['annotations']['description']}"
    assert set(re.findall(r"\$labels\.(\w+)", text)) <= labels_of(str(rule["expr"]))
    assert promql_parser.parse_duration(rule.get("for", "1s")) is not None


def test_every_alert_has_a_page_and_no_page_is_of_no_alert() -> None:
    assert {path.stem for path in RUNBOOKS.glob("*.md")} - {"README"} == {rule["alert"] for rule in ALERTS}


@pytest.mark.parametrize("name", sorted({rule["alert"] for rule in ALERTS}))
def test_a_page_says_what_it_means_and_what_to_do(name: str) -> None:
    text = (RUNBOOKS / f"{name}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {name}\n")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS
    assert all(part.strip() for part in re.split(r"^## .+$", text, flags=re.MULTILINE)[1:])


def test_the_list_of_pages_names_them_all() -> None:
    text = (RUNBOOKS / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\((\w+)\.md\)", text)) == {rule["alert"] for rule in ALERTS}


def test_no_metric_has_a_label_that_prometheus_gives_to_targets() -> None:
    assert [metric.name for metric in ALL_METRICS if TARGET_LABELS & set(metric.labels)] == []


def test_every_metric_is_explained_with_its_labels_and_no_other() -> None:
    text = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(osctl_\w+)` \| (\w+) \| ([^|]*) \| ([^|]+) \|$", text, re.MULTILINE)
    explained = {name: (kind, tuple(re.findall(r"`(\w+)`", labels))) for name, kind, labels, _ in rows}
    kinds = {metric.name: type(metric).__name__.lower() for metric in ALL_METRICS}
    assert explained == {metric.name: (kinds[metric.name], metric.labels) for metric in ALL_METRICS}


def test_every_metric_is_recorded_somewhere() -> None:
    sources = [path for folder in ("controller", "containers") for path in (ROOT / folder).rglob("*.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    constants = {name for name, value in vars(metrics).items() if value in ALL_METRICS}
    unused = {name for name in constants if f"metrics.{name}" not in text}
    assert unused == set()


# the dashboard


def test_panels_lie_side_by_side_and_have_numbers_of_their_own() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [panel["gridPos"] for panel in panels]
    for one, other in itertools.combinations(places, 2):
        apart = (
            one["x"] + one["w"] <= other["x"]
            or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"]
            or other["y"] + other["h"] <= one["y"]
        )
        assert apart, (one, other)
    assert all(place["x"] + place["w"] <= 24 for place in places)


def shows_only_what_is_chosen(expression: str) -> bool:
    """Whether each series that it asks for is of the chosen regions."""
    chosen = {("region", "$region"), ("region_namespace", "$namespace")}
    return all(
        chosen <= {(one.name, one.value) for one in selector.matchers.matchers if str(one.op).endswith("Re")}
        for selector in selectors(expression)
    )


def test_every_panel_shows_the_chosen_regions_and_no_other() -> None:
    asked = [
        (panel["title"], one["expr"]) for panel in DASHBOARD["panels"] for one in panel.get("targets", [])
    ]
    assert len(asked) > 35
    assert [title for title, expression in asked if not shows_only_what_is_chosen(expression)] == []


def test_a_panel_that_ignores_the_choice_would_be_found() -> None:
    assert not shows_only_what_is_chosen("osctl_release_failures > 0")
    half = (
        'osctl_release_failures{region_namespace=~"$namespace", region=~"$region"} * osctl_release_deployed'
    )
    assert not shows_only_what_is_chosen(half)
    assert not shows_only_what_is_chosen('osctl_region_info{region=~"$region"}')


def test_regions_are_offered_by_namespace_and_all_of_them_are_the_default() -> None:
    variables = {one["name"]: one for one in DASHBOARD["templating"]["list"]}
    for name in ("namespace", "region"):
        assert variables[name]["includeAll"] and variables[name]["allValue"] == ".*"
        assert variables[name]["definition"] == variables[name]["query"]["query"]
    assert 'region_namespace=~"$namespace"' in variables["region"]["definition"]
    assert variables["namespace"]["definition"] == "label_values(osctl_region_info, region_namespace)"


def test_every_alert_says_which_region_it_is_about() -> None:
    """Except for the one of a controller that is not measured: nothing bears its region then."""
    kept = {rule["alert"]: rule for rule in ALERTS if not rule["expr"].startswith("absent(")}
    silent = {name for name, rule in kept.items() if "$labels.region " not in rule["annotations"]["summary"]}
    # They say it beside a full stop, a colon or a bracket.
    assert {name for name in silent if "$labels.region }}" not in str(kept[name]["annotations"])} == set()
    for rule in kept.values():
        for names in re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", rule["expr"]):
            assert "instance" in names or {"region", "region_namespace"} <= set(re.split(r",\s*", names)), (
                rule
            )


def test_panels_ask_the_prometheus_that_was_chosen() -> None:
    [chosen] = [one for one in DASHBOARD["templating"]["list"] if one["type"] == "datasource"]
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", []):
            assert target["datasource"]["uid"] == f"${{{chosen['name']}}}"


def test_every_panel_says_what_it_shows() -> None:
    shown = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
    assert [panel["title"] for panel in shown if not panel["description"]] == []


# the chart


def monitoring(**parts: Any) -> list[dict[str, Any]]:
    return _render(monitoring=parts)


def test_nothing_of_it_is_installed_unless_asked_for() -> None:
    rendered = _render()
    assert _of("PodMonitor", rendered) + _of("PrometheusRule", rendered) + _of("ConfigMap", rendered) == []


def test_every_deployed_container_is_scraped() -> None:
    rendered = _render(monitoring={"podMonitor": {"enabled": True, "labels": {"release": "prometheus"}}})
    [monitor] = _of("PodMonitor", rendered)
    [deployment] = _of("Deployment", rendered)
    pod = deployment["spec"]["template"]
    ports = {port["name"] for one in pod["spec"]["containers"] for port in one["ports"]}
    endpoints = monitor["spec"]["podMetricsEndpoints"]
    assert [endpoint["port"] for endpoint in endpoints] == list(CONTAINERS)
    assert {endpoint["port"] for endpoint in endpoints} == ports
    desired = monitor["spec"]["selector"]["matchLabels"]
    assert desired.items() <= pod["metadata"]["labels"].items()
    assert monitor["metadata"]["labels"]["release"] == "prometheus"


def test_a_container_that_is_not_deployed_is_not_scraped() -> None:
    rendered = _render(monitoring={"podMonitor": {"enabled": True}}, containers={"node": {"enabled": False}})
    [monitor] = _of("PodMonitor", rendered)
    ports = [endpoint["port"] for endpoint in monitor["spec"]["podMetricsEndpoints"]]
    assert ports == [name for name in CONTAINERS if name != "node"]


def test_the_alerts_are_installed_as_the_file_has_them() -> None:
    chosen = {"monitoring": {"rules": {"enabled": True}}, "servers": {"enabled": True}}
    [rules] = _of("PrometheusRule", _render(**chosen))

    def comparable(groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Without what is only known where the chart is installed."""
        text = json.dumps(groups).replace(json.dumps(f'namespace="{NAMESPACE}", ')[1:-1], "")
        return cast(list[dict[str, Any]], json.loads(text))

    assert comparable(rules["spec"]["groups"]) == GROUPS


def test_each_deployed_container_is_missed_and_no_other() -> None:
    def missed(**containers: Any) -> set[str]:
        [rules] = _of(
            "PrometheusRule", _render(monitoring={"rules": {"enabled": True}}, containers=containers)
        )
        found = (rule for group in rules["spec"]["groups"] for rule in group["rules"])
        return {rule["expr"] for rule in found if rule["alert"] == "OpenStackControllerAbsent"}

    def absent(*names: str) -> set[str]:
        # Of this controller: Prometheus may measure others, too.
        return {f'absent(osctl_build_info{{namespace="{NAMESPACE}", process="{name}"}})' for name in names}

    assert missed() == absent(*CONTAINERS)
    assert missed(node={"enabled": False}) == absent(*(name for name in CONTAINERS if name != "node"))


def test_each_alert_links_to_its_page() -> None:
    [rules] = _of(
        "PrometheusRule",
        monitoring(rules={"enabled": True, "runbooks": "https://docs.example.org/runbooks/"}),
    )
    for group in rules["spec"]["groups"]:
        for rule in group["rules"]:
            url = f"https://docs.example.org/runbooks/{rule['alert']}.md"
            assert rule["annotations"]["runbook_url"] == url


def test_the_dashboard_is_installed_as_the_file_has_it() -> None:
    [config] = _of("ConfigMap", monitoring(dashboard={"enabled": True, "namespace": "grafana"}))
    assert json.loads(config["data"]["openstack-region.json"]) == DASHBOARD
    assert config["metadata"]["namespace"] == "grafana"
    assert config["metadata"]["labels"]["grafana_dashboard"] == "1"
