"""A preset is what an operator would run: what it makes of the pinned charts, walked object by object."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from controller.domain.validation.cluster.asked_resources import marked_nodes
from tests.render import production
from tests.render.region import ROOT
from tests.upstream.regions import objects, region, releases

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(600)]

CEPH = {
    "compute": {"images": {"backend": "ceph"}},
    "blockStorage": {
        "backends": [{"name": "ssd", "type": "ceph"}],
        "backup": {"enabled": True, "driver": "ceph"},
    },
    "image": {"backends": [{"name": "rbd", "type": "ceph"}]},
}
PUBLIC = {"name": "public", "bridge": "br-ex", "interface": "bond1"}
OVN = {"backend": "ml2/ovn", "externalNetworks": [PUBLIC]}
POLICIES = {"enabled": True, "nodeNetworks": ["10.0.0.0/16"]}
REGIONS: Mapping[str, dict[str, Any]] = {
    f"{preset}-{size}-{kind}": {"preset": preset, "size": size, "storageClass": "fast", "features": features}
    for preset in ("compute", "compute-baremetal")
    for size in ("small", "medium")
    for kind, features in {
        "ovs": {"networkPolicies": POLICIES, "database": {"backup": {"enabled": True}}},
        "ovn-ceph": {"networking": OVN, **CEPH},
    }.items()
}
# Containers whose charts read no figure for them: of Jobs that end within a minute, and of `helm test`.
NO_FIGURE = (
    "mariadb-test",
    "rabbitmq-rabbitmq-test",
    "barbican-test",
    "rabbitmq-rabbitmq-cluster-wait",
    "heat-ks-domain-user",
)
# What has to be there: sshd, by which computes know each other, and machines' own networks.
ON_HOSTS = ("DaemonSet nova-compute-default: nova-compute-ssh 8022", "StatefulSet ironic-conductor: ")
# Upstream's charts name these, and no tags that stay; docs/images.md says how to pin them by digest.
FLOATING = (
    "quay.io/airshipit/ceph-config-helper:latest-ubuntu_jammy",
    "quay.io/airshipit/kubernetes-entrypoint:latest-ubuntu_noble",
    "quay.io/airshipit/mariadb:latest-ubuntu_noble",
    "quay.io/airshipit/openvswitch:latest-ubuntu_noble",
    "quay.io/airshipit/osh-selenium:latest-ubuntu_noble",
    "quay.io/airshipit/porthole-mysqlclient-utility:latest-ubuntu_jammy",
)


@cache
def made(charts: Path, name: str) -> tuple[Mapping[str, Any], ...]:
    return tuple(obj for release in releases(region(charts, REGIONS[name])) for obj in objects(release))


@pytest.mark.parametrize("name", REGIONS)
def test_every_container_says_what_it_needs_and_may_have(charts: Path, name: str) -> None:
    assert production.without_resources(made(charts, name), NO_FIGURE) == []


@pytest.mark.parametrize("name", REGIONS)
def test_no_node_holds_two_of_a_majority(charts: Path, name: str) -> None:
    assert production.majorities_that_may_meet(made(charts, name)) == []


@pytest.mark.parametrize("name", REGIONS)
def test_every_claim_is_of_the_class_that_the_region_names(charts: Path, name: str) -> None:
    assert production.unnamed_classes(made(charts, name), ["fast"]) == []


@pytest.mark.parametrize("name", REGIONS)
def test_no_policy_denies_all(charts: Path, name: str) -> None:
    assert production.policies_that_deny_everybody(made(charts, name)) == []


@pytest.mark.parametrize("name", REGIONS)
def test_no_placeholder_goes_out_as_it_is(charts: Path, name: str) -> None:
    assert production.literals(made(charts, name)) == []


@pytest.mark.parametrize("name", REGIONS)
def test_hypervisors_are_closed_to_all(charts: Path, name: str) -> None:
    assert production.open_hypervisors(made(charts, name)) == []


@pytest.mark.parametrize("name", REGIONS)
def test_on_the_network_of_a_node_nothing_listens_in_clear(charts: Path, name: str) -> None:
    found = production.listeners_on_hosts(made(charts, name))
    assert {one for one in found if not one.startswith(ON_HOSTS)} == set()


@pytest.mark.parametrize("name", REGIONS)
def test_no_image_is_another_tomorrow_but_those_that_are_recorded(charts: Path, name: str) -> None:
    assert set(production.floating_images(made(charts, name))) <= set(FLOATING)


def test_a_region_whose_images_are_pinned_by_digest_has_none_that_float(charts: Path) -> None:
    spec = REGIONS["compute-small-ovs"]
    tags = {
        name
        for release in releases(region(charts, spec))
        for name, image in release.merged.values["images"]["tags"].items()
        if image in FLOATING
    }
    pinned = {name: f"registry.example.org/{name}@sha256:{'0' * 64}" for name in tags}
    found = releases(region(charts, {**spec, "images": {"overrides": pinned}}))
    assert production.floating_images(obj for release in found for obj in objects(release)) == []


@pytest.mark.parametrize("name", REGIONS)
def test_every_label_that_pods_want_of_a_node_is_in_the_docs(charts: Path, name: str) -> None:
    text = (ROOT / "docs" / "presets.md").read_text(encoding="utf-8")
    wanted = {label for _, spec in production.pod_specs(made(charts, name)) for label in spec["nodeSelector"]}
    for release in releases(region(charts, REGIONS[name])):
        for marked in marked_nodes(release.spec.chart.name, release.merged.values):
            wanted |= {pair.partition("=")[0] for pair in marked.label.split(",")}
    assert ("l3-agent" in wanted) == ("ovn" in name)
    assert {label for label in wanted if f"| `{label}` |" not in text} == set()


def test_without_a_class_the_cluster_chooses_one(charts: Path) -> None:
    spec = {key: value for key, value in REGIONS["compute-small-ovs"].items() if key != "storageClass"}
    found = releases(region(charts, spec))
    assert production.unnamed_classes([obj for one in found for obj in objects(one)], [None]) == []


@pytest.mark.parametrize("tls", [False, True])
def test_the_dashboard_verifies_whom_it_speaks_to(charts: Path, tls: bool) -> None:
    features = {"services": {"enabled": ["dashboard"]}, "tls": {"internal": {"enabled": tls}}}
    found = region(charts, {"preset": "core", "features": features}).release("horizon")
    assert found is not None
    [settings] = [
        text for obj in objects(found) for name, text in production.files(obj) if name == "local_settings"
    ]
    assert "OPENSTACK_SSL_NO_VERIFY = False" in settings
    assert ("OPENSTACK_SSL_CACERT" in settings) == tls
