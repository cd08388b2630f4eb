"""Keys without an effect, numbers with an exponent and hosts that nothing serves are reported."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from controller.cli.offline.unread_keys import large_numbers, unread_keys
from controller.domain.releases.bundle import BundleSpec, ChartRef, ReleaseSpec
from controller.domain.validation.dangling import made_by
from controller.domain.validation.endpoint_hosts import unmade_hosts
from controller.domain.values.chart_values import lookup
from controller.domain.values.layer import Layer
from controller.domain.values.merge import MergedValues, merge_layers
from controller.domain.values.names.unknown_keys import OpenMaps
from controller.render.region import Region, RegionBundle, RegionRelease
from tests.fakes.option_files import option_files

DEFAULTS: dict[str, Any] = {"pod": {"replicas": {"api": 1}}, "conf": {"web": {}}}
OPEN = OpenMaps((("conf", "web", "*"),))


def release(values: dict[str, Any], *root: str) -> RegionRelease:
    layer = Layer("services", values, "region.yaml", root or ("spec", "services"), {("spec",): 7})
    merged = merge_layers(DEFAULTS, [layer])
    chart = ChartRef("web", path="charts/web")
    return RegionRelease(ReleaseSpec("web", "openstack", chart, merged.overlay), merged)


def region(*releases: RegionRelease) -> Region:
    spec = BundleSpec(releases=tuple(one.spec for one in releases))
    return Region((RegionBundle("web", "web", releases, spec),), ())


def reads_only(*paths: tuple[str, ...]) -> Any:
    """A chart that writes what is at these paths."""
    return lambda spec: repr([lookup(spec.values, path) for path in paths])


def told(one: RegionRelease, *read: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(warning.path, warning.source) for warning in unread_keys(region(one), OPEN, reads_only(*read))]


def test_a_key_that_changes_nothing_is_reported_with_its_line() -> None:
    one = release({"pod": {"replcas": {"api": 3}}, "foo": 1, "conf": {"web": {"DEFAULT": {"x": 1}}}})
    assert told(one) == [
        ("spec.services.pod.replcas", "region.yaml:7"),
        ("spec.services.foo", "region.yaml:7"),
    ]


def test_a_key_that_a_template_reads_is_not_reported_though_the_charts_values_lack_it() -> None:
    one = release({"extra": {"a": 1}, "foo": 1})
    assert told(one, ("extra", "a")) == [("spec.services.foo", "region.yaml:7")]


def test_what_was_reported_already_is_not_reported_again() -> None:
    one = release({"foo": 1})
    [warning] = unread_keys(region(one), OPEN, reads_only())
    again = replace(region(one), warnings=(warning,))
    assert list(unread_keys(again, OPEN, reads_only())) == []


def test_a_key_for_several_releases_is_reported_where_none_of_them_reads_it() -> None:
    common = ("spec", "common", "charts", "values")
    one, other = release({"a": 1, "b": 2}, *common), release({"a": 1, "b": 2}, *common)
    other = replace(other, spec=replace(other.spec, name="db"))
    found = unread_keys(
        region(one, other), OPEN, lambda spec: repr(spec.values.get("a") if spec.name == "db" else "")
    )
    assert [(warning.path, warning.message) for warning in found] == [
        ("spec.common.charts.values.b", '"b" has no effect on the objects of any chart')
    ]


def test_a_key_for_several_releases_that_one_of_their_charts_knows_is_not_reported() -> None:
    common = ("spec", "common", "charts", "values")
    values = {"conf": {"web": {"DEFAULT": {"x": 1}}}}
    knows, other = release(values, *common), release(values, *common)
    layer = other.merged.history.layer_of(("conf", "web", "DEFAULT", "x"))
    assert layer is not None
    merged = merge_layers({"pod": {}}, [layer])
    other = replace(other, merged=merged, spec=replace(other.spec, name="db", values=merged.overlay))
    assert list(unread_keys(region(knows, other), OPEN, reads_only())) == []


def test_a_large_number_that_a_chart_prints_with_an_exponent_is_reported_with_the_form_in_quotes() -> None:
    one = release({"limits": {"bytes": 104857600, "few": 1000, "fine": 2000000}})
    script = {"kind": "ConfigMap", "data": {"a.sh": "set 1.048576e+08 2000000"}}
    [problem] = large_numbers(one, [script])
    assert problem.path == "spec.services.limits.bytes"
    assert problem.remedy == 'write it in quotes: "104857600"'
    hidden = {"kind": "Secret", "data": {"a": "MS4wNDg1NzZlKzA4"}}
    assert len(list(large_numbers(one, [hidden]))) == 1


def test_large_numbers_of_a_bootstrap_are_sent_as_text() -> None:
    sent = option_files().with_numbers_as_text({"bootstrap": {"qos": {"bytes": 104857600, "few": 10}}})
    assert sent == {"bootstrap": {"qos": {"bytes": "104857600", "few": 10}}}


def hosts(content: dict[str, Any]) -> MergedValues:
    below = {"endpoints": {"cache": {"hosts": {"default": "memcached"}, "host_fqdn_override": {}}}}
    layer = Layer("services", {"endpoints": {"cache": content}}, "region.yaml", ("spec", "services"))
    return merge_layers(below, [layer])


def test_a_host_that_is_no_service_of_the_region_is_reported() -> None:
    there = made_by([{"kind": "Service", "metadata": {"name": "memcached"}}])
    [warning] = unmade_hosts("cinder", hosts({"hosts": {"default": "memcached-ha"}}), there)
    assert warning.path == "spec.services.endpoints.cache.hosts.default"
    assert warning.message == "no release creates Service memcached-ha, which cinder uses"
    for content in (
        {"hosts": {"default": "memcached"}},
        {"hosts": {"default": "cache.example.org"}},
        {"hosts": {"default": "cache"}, "host_fqdn_override": {"default": "cache.example.org"}},
        {"hosts": {"default": "cache"}, "namespace": "infra"},
    ):
        assert list(unmade_hosts("cinder", hosts(content), there)) == []
