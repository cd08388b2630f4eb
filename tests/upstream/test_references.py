"""Nothing that releases of OpenStack-Helm's charts refer to is missing, except what an operator brings."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.adapters.system.reference_files import load_known_references
from controller.domain.credentials.ceph.region_objects import CONF_FILE, KEY, KEYRING
from controller.domain.region.required_certificates import secrets_made
from controller.domain.validation.dangling import CONFIGMAP, SECRET, dangling, made_by
from controller.domain.values.ceph_needs import CEPH_CONF
from controller.reconcile.credentials.certificates.certificate_uptake import ANNOTATION
from tests.render.region import ROOT
from tests.upstream.covering import covering
from tests.upstream.pairs import pairs
from tests.upstream.regions import MADE_UP, OVN, objects, region, releases, specs

pytestmark = pytest.mark.upstream

KNOWN = load_known_references(ROOT / "values")
SPECS = {**specs(), **covering(), **pairs()}
# By the spec of each region: its own Secrets, which fields of features name.
NAMED = {"directory", "mirror", "octavia-certs", "oidc-client", "public-tls", "region-ca-bundle", "vault-ca"}
# Settled ones that the charts of the previous builds alone refer to.
OF_BEFORE = {"Secret/placement-etc/wsgi-placement.conf"}


def _missing(charts: Path, name: str) -> set[str]:
    made = region(charts, SPECS[name])
    by_release = {release.spec.name: objects(release, namespace="openstack") for release in releases(made)}
    there = made_by(obj for found in by_release.values() for obj in found)
    for secret in made.credentials:
        there.add(SECRET, secret.name, secret.credentials)
    for certificate, keys in secrets_made(made.certificates).items():
        there.add(SECRET, certificate, keys)
    if made.ceph is not None:
        there.add(CONFIGMAP, CEPH_CONF, (CONF_FILE,))
        for keyring in made.ceph.key_secrets:
            there.add(SECRET, keyring, (KEY, KEYRING))
    left = (one for found in by_release.values() for one in KNOWN.remaining(dangling(found, there)))
    return {f"{one.kind}/{one.name}" for one in left} - {f"Secret/{name}" for name in NAMED}


@pytest.mark.parametrize("name", SPECS)
def test_nothing_is_missing_but_what_an_operator_brings(charts: Path, name: str) -> None:
    assert _missing(charts, name) <= set(KNOWN.brought)


@pytest.mark.timeout(900)
def test_everything_that_an_operator_brings_is_referred_to_by_some_region(charts: Path) -> None:
    assert set().union(*(_missing(charts, name) for name in SPECS)) == set(KNOWN.brought)


@pytest.mark.timeout(900)
def test_everything_that_is_settled_is_referred_to_by_some_region(charts: Path) -> None:
    found = set().union(*(_referred_to(charts, name) for name in SPECS))
    assert KNOWN.settled - OF_BEFORE <= found
    assert not OF_BEFORE & found


def _referred_to(charts: Path, name: str) -> set[str]:
    found: set[str] = set()
    for release in releases(region(charts, SPECS[name])):
        for one in dangling(objects(release, namespace="openstack"), made_by([])):
            found |= {f"{one.kind}/{one.name}", f"{one.kind}/{one.name}/{one.key}"}
    return found


def test_of_the_previous_builds_nothing_else_is_missing(previous: Path) -> None:
    assert _missing(previous, "everything") <= set(KNOWN.brought)
    assert _referred_to(previous, "everything") >= OF_BEFORE


def test_certificates_of_our_own_stand_for_what_the_charts_call_their_services(charts: Path) -> None:
    services = ["block-storage", "orchestration", "dashboard"]
    features = {
        "services": {"enabled": services},
        "tls": {"internal": {"enabled": True}},
        "compute": {"libvirtTLS": {"enabled": False}},
    }
    made = region(charts, {"preset": "core", "features": features})
    named = {one.name: set(one.names) for one in made.certificates}
    found = {}
    for release in releases(made):
        for obj in objects(release, namespace="openstack"):
            ports = obj.get("spec", {}).get("ports", []) if obj["kind"] == "Service" else []
            if any(port.get("targetPort") == 443 for port in ports):
                found.setdefault(f"{release.spec.chart.name}-tls-api", set()).add(obj["metadata"]["name"])
    assert found.keys() == named.keys()
    assert all(found[name] <= named[name] for name in found)


def test_every_workload_of_a_release_with_a_certificate_shows_which_one_it_runs_with(charts: Path) -> None:
    services = ["block-storage", "orchestration", "dashboard"]
    features = {
        "services": {"enabled": services},
        "tls": {"internal": {"enabled": True}},
        "compute": {"libvirtTLS": {"enabled": True}},
    }
    seen = 0
    for networking in ({}, OVN["features"]):
        made = region(charts, {"preset": "core", "features": {**features, **networking}})
        for release in releases(made):
            value = release.spec.values.get("release_uuid")
            for obj in objects(release, namespace="openstack") if value else ():
                if obj["kind"] in ("Deployment", "StatefulSet", "DaemonSet"):
                    shown = (obj["spec"]["template"]["metadata"].get("annotations") or {}).get(ANNOTATION)
                    assert shown == f"{MADE_UP}-{value['$secretRef']['name']}-digest", obj["metadata"]["name"]
                    seen += 1
    assert seen > 20
