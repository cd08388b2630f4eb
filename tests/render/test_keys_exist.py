"""No silent no-op: every key that our templates and values set is one that the chart reads.

Helm takes unknown keys without a word. Each key of what we send must therefore be in the chart's
values.yaml, or lie below a path whose keys are free.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from controller.domain.values.catalogue import UPSTREAM
from controller.domain.values.chart_values import Path, is_map
from controller.errors import SpecInvalid
from tests.render.region import core_spec, library, render
from tests.render.specs import EMBEDDED, FEATURES, PAIRS, UPSTREAM_ONLY

pytestmark = pytest.mark.slow

OSLO_CONFIG_FILES = (
    *(
        "keystone",
        "placement",
        "glance",
        "nova",
        "neutron",
        "cinder",
        "heat",
        "barbican",
        "designate",
        "octavia",
    ),
    *("aodh", "ceilometer", "gnocchi"),
    *("manila", "ironic", "metadata_agent", "dhcp_agent", "l3_agent", "ovn_agent", "ovn_metadata_agent"),
)
# Paths below which a chart takes any key, with the reason. `*` stands for one key.
FREE: Mapping[str, str] = {
    **{
        f"conf.{file}.*": "an oslo.config file: sections and options are written as they are"
        for file in OSLO_CONFIG_FILES
    },
    "conf.plugins.ml2_conf.*": "an oslo.config file",
    "conf.plugins.openvswitch_agent.*": "an oslo.config file",
    "conf.backends.*": "sections of cinder.conf, one for each store",
    "conf.ceph.pools.*": "pools of Ceph, by name",
    "conf.policy.*": "rules of oslo.policy, by name",
    "conf.auto_bridge_add.*": "bridges, by name",
    "conf.ks_domains": "read by the keystone chart, shown in a comment of its values.yaml",
    "conf.*_api_uwsgi.uwsgi.*": "a file of uwsgi options",
    "conf.horizon.local_settings.config.raw.*": "settings of Django, by name",
    "conf.overrides": "read by helm-toolkit for labelled nodes, in no values.yaml",
    "overrides": "read by helm-toolkit for labelled nodes, in no values.yaml",
    "endpoints.*.host_fqdn_override.public": "read by helm-toolkit, shown in comments of values.yaml",
    "endpoints.*.host_fqdn_override.default": "read by helm-toolkit, null in values.yaml",
    "endpoints.*.scheme.*": "read by helm-toolkit for any kind of endpoint",
    "endpoints.*.port.*.public": "read by helm-toolkit for any kind of endpoint",
    "endpoints.oslo_messaging.port.https": "read by rabbitmq and its clients with TLS, in no values.yaml",
    "endpoints.identity.auth.*.cacert": "read by helm-toolkit for accounts, in no values.yaml",
    "extraObjects.*": "objects, by name",
    "pod.extraContainers.*": "lists of containers, by component",
    "pod.extraVolumes.*": "lists of volumes, by component",
    "conf.rabbitmq.ssl_options": "options of rabbitmq.conf, written as they are",
    "conf.rabbitmq.management": "options of rabbitmq.conf, written as they are",
    "bootstrap.volume_types.*": "volume types of cinder, by name",
    "pod.mounts.*.*.volumes": "read by every chart, null in values.yaml",
}


def unknown_keys(values: Mapping[str, Any], known: Any, path: Path = ()) -> Iterator[str]:
    for key, value in values.items():
        below = (*path, key)
        dotted = ".".join(below)
        if any(fnmatch.fnmatchcase(dotted, free) and dotted.count(".") == free.count(".") for free in FREE):
            continue
        if not isinstance(known, dict) or key not in known:
            yield dotted
        elif is_map(value) and isinstance(known[key], dict):
            yield from unknown_keys(value, known[key], below)


def check(spec: dict[str, Any]) -> None:
    region = render(spec)
    found = {
        release.spec.name: list(unknown_keys(release.spec.values, release.merged.defaults))
        for bundle in region.bundles
        for release in bundle.releases
    }
    assert {name: keys for name, keys in found.items() if keys} == {}


@pytest.mark.parametrize("version", ["2025.1", "2025.2", "2026.1"])
@pytest.mark.parametrize("size", ["single", "tiny", "small", "medium", "large"])
def test_every_key_sent_to_upstream_charts_is_in_their_values(version: str, size: str) -> None:
    every = [name for name, entry in library().catalogue.services.items() if entry.offered_by(UPSTREAM)]
    more = {"services": {"enabled": every}, "gateway": {"className": "envoy"}}
    check(core_spec(openstackVersion=version, size=size, preset="compute-baremetal", features=more))


@pytest.mark.parametrize("size", ["single", "small", "large"])
def test_every_key_sent_to_our_own_charts_is_in_their_values(size: str) -> None:
    check(core_spec(size=size, charts={}))


@pytest.mark.parametrize("feature", FEATURES)
def test_every_key_that_a_feature_sets_is_in_upstream_values(feature: str) -> None:
    check(core_spec(**{"preset": "compute-baremetal", **FEATURES[feature]}))


@pytest.mark.parametrize("pair", PAIRS)
def test_every_key_that_features_set_together_is_in_upstream_values(pair: str) -> None:
    check(core_spec(**{"preset": "compute-baremetal", **PAIRS[pair]}))


@pytest.mark.parametrize("feature", EMBEDDED)
def test_every_key_that_a_feature_sets_is_in_our_own_charts(feature: str) -> None:
    check(core_spec(charts={}, **FEATURES[feature]))


@pytest.mark.parametrize("feature", sorted(UPSTREAM_ONLY))
def test_what_our_own_charts_cannot_serve_is_refused(feature: str) -> None:
    with pytest.raises(SpecInvalid):
        render(core_spec(charts={}, **FEATURES[feature]))


def test_every_image_tag_of_a_version_is_one_that_upstream_knows() -> None:
    from tests.render.region import upstream_defaults

    unknown = [
        f"{version}: {chart}.{tag}"
        for version, file in library().versions.items()
        for chart, values in file.charts.items()
        for tag in values.get("images", {}).get("tags", {})
        if tag not in upstream_defaults(chart)["images"]["tags"]
    ]
    assert unknown == []
