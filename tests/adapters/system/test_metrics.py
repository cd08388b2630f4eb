"""What is recorded is what a scrape reads, whatever is recorded."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from controller.adapters.system.metrics import PrometheusMetrics
from controller.domain.shared import metrics
from controller.domain.shared.metrics import Counter, Gauge, Histogram
from tests.fakes.metrics import ALL_METRICS

PODS = Gauge("test_pods", "Pods.", ("application", "component"))
SIZE = Gauge("test_size_bytes", "Size.", ("release",))
NODE = Gauge("test_node", "A node.", ("node",))

SCRAPE = "text/plain;version=0.0.4"


def scraped(recorder: PrometheusMetrics) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Every sample of a scrape by name and labels."""
    body, _ = recorder.exposition(SCRAPE)
    families = text_string_to_metric_families(body.decode())
    return {
        (sample.name, frozenset((key, text) for key, text in sample.labels.items() if text)): sample.value
        for family in families
        for sample in family.samples
    }


def value(recorder: PrometheusMetrics, name: str, **labels: str) -> float | None:
    return scraped(recorder).get((name, frozenset(labels.items())))


def test_a_counter_adds_up() -> None:
    recorder = PrometheusMetrics("helmbundle")
    recorder.count(metrics.HELM_RETRIES, release="nova")
    recorder.count(metrics.HELM_RETRIES, 2, release="nova")
    assert value(recorder, "osctl_helm_retries_total", release="nova") == 3


def test_a_gauge_says_what_was_set_last() -> None:
    recorder = PrometheusMetrics("helmbundle")
    recorder.set(SIZE, 10, release="nova")
    recorder.set(SIZE, 7, release="nova")
    assert value(recorder, "test_size_bytes", release="nova") == 7


def test_a_duration_goes_into_its_bucket() -> None:
    recorder = PrometheusMetrics("helmbundle")
    recorder.observe(metrics.HELM_DURATION, 2.0, release="nova", action="Install", result="success")
    name = "osctl_helm_action_duration_seconds_bucket"
    labels = {"release": "nova", "action": "Install", "result": "success"}
    assert value(recorder, name, **labels, le="1.0") == 0
    assert value(recorder, name, **labels, le="3.0") == 1


def test_a_series_that_is_no_more_among_the_rows_ends() -> None:
    recorder = PrometheusMetrics("health")
    recorder.replace(PODS, [({"component": "a"}, 1), ({"component": "b"}, 2)])
    recorder.replace(PODS, [({"component": "b"}, 3)])
    read = {key: found for key, found in scraped(recorder).items() if key[0] == "test_pods"}
    assert list(read.values()) == [3]


def test_rows_replace_only_those_that_share_the_given_labels() -> None:
    recorder = PrometheusMetrics("health")
    recorder.replace(PODS, [({"component": "api"}, 1)], application="nova")
    recorder.replace(PODS, [({"component": "api"}, 2)], application="neutron")
    recorder.replace(PODS, [], application="nova")
    name = "test_pods"
    assert value(recorder, name, application="nova", component="api") is None
    assert value(recorder, name, application="neutron", component="api") == 2


def test_what_is_forgotten_is_gone_from_every_metric_that_names_it() -> None:
    recorder = PrometheusMetrics("helmbundle")
    recorder.count(metrics.HELM_RETRIES, release="nova")
    recorder.set(SIZE, 10, release="nova")
    recorder.set(SIZE, 10, release="glance")
    recorder.observe(metrics.HELM_DURATION, 2, release="nova", action="Install", result="success")
    recorder.forget(release="nova")
    assert "nova" not in str(scraped(recorder))
    assert value(recorder, "test_size_bytes", release="glance") == 10


def test_a_tracked_value_is_asked_for_at_each_scrape() -> None:
    recorder = PrometheusMetrics("core")
    asked = [3.0]
    recorder.track(metrics.QUEUE_KEYS, lambda: asked[-1])
    assert value(recorder, "osctl_queue_keys") == 3
    asked.append(5.0)
    assert value(recorder, "osctl_queue_keys") == 5


def shown(recorder: PrometheusMetrics, metric: Gauge | Counter, label: str) -> dict[str, float]:
    """Values of the metric by one of its labels."""
    return {dict(key[1])[label]: found for key, found in scraped(recorder).items() if key[0] == metric.name}


def left_out(recorder: PrometheusMetrics, metric: Gauge) -> float | None:
    return shown(recorder, metrics.METRICS_DROPPED, "name").get(metric.name)


def test_what_comes_after_the_limit_is_left_out_and_counted() -> None:
    recorder = PrometheusMetrics("node", limit=3)
    for number in range(50):
        recorder.set(NODE, number, node=f"cmp{number}")
    assert shown(recorder, NODE, "node") == {"cmp0": 0, "cmp1": 1, "cmp2": 2}
    assert left_out(recorder, NODE) == 47


def test_nothing_left_out_is_said_from_the_beginning() -> None:
    assert left_out(PrometheusMetrics("node"), metrics.NODE_READY) == 0


def test_a_series_that_was_there_before_the_limit_goes_on() -> None:
    recorder = PrometheusMetrics("node", limit=1)
    recorder.set(NODE, 1, node="cmp1")
    recorder.set(NODE, 1, node="cmp2")
    recorder.set(NODE, 7, node="cmp1")
    assert shown(recorder, NODE, "node") == {"cmp1": 7}


def test_what_ends_makes_room_for_what_was_left_out() -> None:
    recorder = PrometheusMetrics("node", limit=2)
    nodes = [({"node": f"cmp{number}"}, float(number)) for number in range(3)]
    recorder.replace(metrics.NODE_READY, nodes, region="one")
    assert shown(recorder, metrics.NODE_READY, "node") == {"cmp0": 0, "cmp1": 1}
    recorder.replace(metrics.NODE_READY, nodes[1:], region="one")
    assert shown(recorder, metrics.NODE_READY, "node") == {"cmp1": 1, "cmp2": 2}
    recorder.forget(region="one")
    assert shown(recorder, metrics.NODE_READY, "node") == {}


def test_a_full_metric_whose_series_all_change_loses_none() -> None:
    recorder = PrometheusMetrics("node", limit=2)
    recorder.replace(NODE, [({"node": "a"}, 1), ({"node": "b"}, 1)])
    recorder.replace(NODE, [({"node": "c"}, 2), ({"node": "d"}, 2)])
    assert shown(recorder, NODE, "node") == {"c": 2, "d": 2}
    assert left_out(recorder, NODE) == 0


def test_labels_that_a_metric_does_not_have_and_those_that_lack_do_no_harm() -> None:
    recorder = PrometheusMetrics("helmbundle")
    recorder.set(SIZE, 1, bundle="compute")
    recorder.replace(SIZE, [({"release": "nova"}, 2)], namespace="openstack")
    assert value(recorder, "test_size_bytes", release="nova") == 2


def test_a_counter_never_falls() -> None:
    recorder = PrometheusMetrics("helmbundle")
    recorder.count(metrics.HELM_RETRIES, 2, release="nova")
    recorder.count(metrics.HELM_RETRIES, -1, release="nova")
    assert value(recorder, "osctl_helm_retries_total", release="nova") == 2


def test_a_name_that_is_no_text_can_still_be_scraped() -> None:
    recorder = PrometheusMetrics("node")
    recorder.set(NODE, 1, node='a\ud800"\n\\')
    assert len([key for key in scraped(recorder) if key[0] == "test_node"]) == 1


def test_the_process_itself_is_measured() -> None:
    assert (value(PrometheusMetrics("core"), "process_resident_memory_bytes") or 0) > 1e6


def test_a_scraper_that_asks_for_it_gets_the_newer_format() -> None:
    body, content_type = PrometheusMetrics("core").exposition("application/openmetrics-text;version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")


def test_names_follow_the_conventions() -> None:
    for metric in ALL_METRICS:
        assert metric.name.startswith("osctl_")
        assert metric.name.endswith("_total") == isinstance(metric, Counter), metric.name
        if isinstance(metric, Histogram):
            assert metric.name.endswith("_seconds")
            assert list(metric.buckets) == sorted(metric.buckets)
        assert metric.help.endswith(".")


def test_no_two_metrics_share_a_name() -> None:
    names = [metric.name for metric in ALL_METRICS]
    assert len(names) == len(set(names))


def test_a_metric_of_another_container_can_be_recorded_too() -> None:
    recorder = PrometheusMetrics("core")
    recorder.set(Gauge("osctl_other", "Something else."), 4)
    assert value(recorder, "osctl_other") == 4


def test_every_series_bears_the_region_and_its_namespace() -> None:
    recorder = PrometheusMetrics("helmbundle", region_namespace="openstack")
    recorder.count(metrics.HELM_RETRIES, release="nova")
    recorder.observe(metrics.HELM_DURATION, 2.0, release="nova", action="Install", result="success")
    recorder.name_region("region-one")
    names = set()
    for name, labels in scraped(recorder):
        assert {("region", "region-one"), ("region_namespace", "openstack")} <= labels, name
        names.add(name)
    assert "osctl_helm_action_duration_seconds_bucket" in names
    assert "process_resident_memory_bytes" in names


def test_before_there_is_a_region_only_its_namespace_is_known() -> None:
    recorder = PrometheusMetrics("helmbundle", region_namespace="openstack")
    recorder.count(metrics.HELM_RETRIES, release="nova")
    assert value(recorder, "osctl_helm_retries_total", release="nova", region_namespace="openstack") == 1


def test_a_series_of_another_region_keeps_its_own_name() -> None:
    recorder = PrometheusMetrics("core", region_namespace="openstack")
    recorder.name_region("region-one")
    recorder.set(metrics.REGION_RELEASES, 3, region="region-two")
    name = "osctl_region_releases"
    assert value(recorder, name, region="region-two", region_namespace="openstack") == 3
    assert value(recorder, name, region="region-one", region_namespace="openstack") is None


def test_a_scrape_leaves_the_recorded_labels_as_they_are() -> None:
    recorder = PrometheusMetrics("core", region_namespace="openstack")
    recorder.name_region("region-one")
    recorder.set(metrics.REGION_RELEASES, 3, region="")
    first = scraped(recorder)
    recorder.name_region("region-two")
    assert len(scraped(recorder)) == len(first)
