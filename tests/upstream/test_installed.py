"""Regions installed from OpenStack-Helm's charts on a real API server, with the rights of our chart.

Each tells the report how many releases it has and when it was Ready.
"""

from __future__ import annotations

import base64
import json
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from controller.adapters.helm.records.record_texts import decode_record
from controller.domain.credentials.ceph.own_offer import DOCUMENT
from controller.domain.region.required_certificates import secrets_made
from controller.domain.values.ceph_needs import CONSUMERS_SECRET, OFFER_SECRET
from controller.domain.values.secret_refs import find_references
from controller.render.region import Region as RenderedRegion
from sandbox import audit
from sandbox.cluster import Sandbox
from tests.chart_repositories.certificates import authority
from tests.cluster.conftest import installed
from tests.cluster.region import NAME, Region, wait_until
from tests.domain.credentials.ceph.samples import FSID, key_of
from tests.upstream.covering import covering
from tests.upstream.definitions import prepare
from tests.upstream.regions import region as rendered
from tests.upstream.regions import releases, specs

# One after the other: objects of these charts have names that a cluster holds once.
pytestmark = [
    pytest.mark.upstream,
    pytest.mark.cluster,
    pytest.mark.timeout(1800),
    pytest.mark.xdist_group("installed"),
]

Record = Callable[[str, object], None]
READY_SECONDS = 1200
# How long nothing at all may be written once a region has settled.
QUIET_SECONDS = 15
# Secrets that fields of covering regions name.
CERTIFICATES = ("public-tls", "region-ca-bundle", "vault-ca")
# Of ours, and those of keystone that open what lies in the volume of the database.
CREDENTIALS = ("-credentials", "secret/keystone-fernet-keys", "secret/keystone-credential-keys")
# From the previous builds: every service with OVS, and OVN with several replicas.
UPGRADED = ("everything", "ovn-small")
OURS = {"gateway"}
# Why Helm's record says that a revision failed that was begun before helmbundle lost its Lease.
CUT_OFF = "the writer was interrupted"
EDIT = {"services": {"image": {"glance": {"values": {"conf": {"glance": {"DEFAULT": {"workers": 3}}}}}}}}


@dataclass(frozen=True)
class Installed:
    """A region of a case, the names of its releases and services, and of all that was there before."""

    region: Region
    wanted: frozenset[str]
    services: tuple[str, ...]
    before: frozenset[str]
    began: float

    def told(self, name: str, began: float) -> dict[str, object]:
        """What the report has of it, now that it is Ready."""
        seconds = round(time.monotonic() - began)
        return {"name": name, "services": self.services, "releases": len(self.wanted), "seconds": seconds}


@pytest.fixture(scope="module", params=covering())
def case(
    request: pytest.FixtureRequest, charts: Path, sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installed]:
    """One after the other: each takes as much of the machine as there is."""
    yield from applied(sandbox, charts, covering()[request.param], tmp_path_factory.mktemp("region"))


def applied(sandbox: Sandbox, charts: Path, spec: Mapping[str, Any], directory: Path) -> Iterator[Installed]:
    namespace = f"test-{secrets.token_hex(4)}"
    sandbox.create_namespace(namespace, {})
    prepare(sandbox)
    try:
        for region in installed(sandbox, namespace, directory, own_charts=False):
            if (spec.get("features") or {}).get("ceph"):
                spec = _beside_ceph(region, spec)
            made = rendered(charts, spec)
            wanted = frozenset(release.spec.name for release in releases(made))
            services = tuple(bundle.service for bundle in made.bundles)
            _bring(region, made)
            _offer(region, made)
            before = frozenset(_everything(region))
            manifest = region.manifest(charts={"repository": f"file://{charts}"}, **{"features": {}, **spec})
            began = time.monotonic()
            region.apply(manifest)
            yield Installed(region, wanted, services, before, began)
    finally:
        spaces = (namespace, _ceph_of(namespace))
        sandbox.kubectl("delete", "namespace", *spaces, "--wait=false", "--ignore-not-found")


def _ceph_of(namespace: str) -> str:
    return f"{namespace}-ceph"


def _beside_ceph(region: Region, spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec with a namespace of Ceph's that is there, and an offer in it that the controller may read."""
    namespace = _ceph_of(region.namespace)
    region.sandbox.create_namespace(namespace, {})
    features = spec["features"]
    offer = features["ceph"].get("secretName", OFFER_SECRET)
    place = "ceph.namespaces[0]"
    region.install_chart("--set", f"{place}.name={namespace},{place}.secrets[0]={offer}")
    return {**spec, "features": {**features, "ceph": {**features["ceph"], "namespace": namespace}}}


def _offer(region: Region, made: RenderedRegion) -> None:
    """What Ceph gives: its monitors, and a key for each client that the region asked for."""
    if made.ceph is None:
        return
    keys = {client.name: {"key": key_of(client.name)} for client in made.ceph.clients}
    document = {"fsid": FSID, "monitors": [{"v2": "192.0.2.1:3300"}], "clients": keys}
    meta = {"name": made.ceph.secret_name, "namespace": made.ceph.namespace}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": meta}
    text = json.dumps({**secret, "stringData": {DOCUMENT: json.dumps(document)}})
    region.sandbox.kubectl("apply", "-f", "-", input=text)


def _bring(region: Region, made: RenderedRegion) -> None:
    """What an operator brings: every Secret that the region refers to and no one generates."""
    generated = {secret.name for secret in made.credentials} | {*secrets_made(made.certificates)}
    if made.ceph is not None:
        generated |= {CONSUMERS_SECRET, *made.ceph.key_secrets}
    pem = base64.b64encode(authority().ca.encode()).decode()
    certificate = dict.fromkeys(("ca.crt", "tls.crt", "tls.key"), pem)
    wanted: dict[str, dict[str, str]] = {name: dict(certificate) for name in CERTIFICATES}
    for release in releases(made):
        for one in find_references(release.spec.values):
            if one.name not in generated:
                wanted.setdefault(one.name, {})[one.key] = base64.b64encode(one.key.encode()).decode()
    items = [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}
        for name, data in wanted.items()
    ]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    region.kubectl("apply", "-f", "-", input=text)


def _everything(region: Region) -> set[str]:
    workloads = "deployments,statefulsets,daemonsets,jobs,cronjobs,pods"
    others = "services,configmaps,secrets,persistentvolumeclaims,roles,rolebindings,serviceaccounts"
    return set(region.kubectl("get", f"{workloads},{others}", "-o", "name").split())


def _failed(region: Region) -> dict[str, str]:
    return {
        release["name"]: release["lastAttempt"]["error"]
        for bundle in region.get("hb")["items"]
        for release in bundle["status"]["releases"]
        if (release.get("lastAttempt") or {}).get("error")
    }


def _made_whole(region: Region) -> Counter[str]:
    """How many revisions of each release were made to their end.

    One that was cut off has to be made again, and counts once; a machine with too much to do costs helmbundle
    its Lease. No revision may have failed in another way.
    """
    found: Counter[str] = Counter()
    for record in region.get("secrets", "-l", "owner=helm")["items"]:
        labels = record["metadata"]["labels"]
        if labels["name"] == f"osctl-{region.namespace}":
            continue
        if labels["status"] in ("deployed", "superseded"):
            found[labels["name"]] += 1
        else:
            info = decode_record(record["data"]["release"], record["metadata"]["name"])["info"]
            assert (info["status"], info["description"]) == ("failed", CUT_OFF)
    return found


def test_the_region_becomes_ready_and_no_action_fails_on_the_way(
    case: Installed, request: pytest.FixtureRequest, record_property: Record
) -> None:
    region = case.region

    region.wait_ready(READY_SECONDS)
    name = request.node.callspec.params["case"]
    record_property("ready", case.told(name, case.began))
    assert {name for name, (_, state) in region.revisions().items() if state == "deployed"} == case.wanted
    assert _failed(region) == {}


def test_nothing_is_written_once_it_has_settled(case: Installed) -> None:
    region = case.region
    before = region.revisions()

    def calm() -> bool:
        moment = audit.now()
        time.sleep(QUIET_SECONDS)
        return not region.writes_since(moment)

    for name in ("core", "helmbundle"):
        region.controllers.restart(name)
    region.controllers.wait_healthy()
    wait_until("nothing is written", calm, 240)
    assert region.revisions() == before


def test_an_edit_touches_one_release(case: Installed) -> None:
    region, before = case.region, case.region.revisions()
    region.edit(**EDIT)
    upgraded = (before["glance"][0] + 1, "deployed")
    wait_until("glance is upgraded", lambda: region.revisions()["glance"] == upgraded, 300)
    assert {**region.revisions(), "glance": before["glance"]} == before


def test_a_removal_leaves_volumes_and_credentials(case: Installed) -> None:
    region = case.region
    region.kubectl("delete", "osdpl", NAME, "--wait=false")
    wait_until("the region is gone", lambda: not region.get("osdpl,hb")["items"], 600)

    def left() -> set[str]:
        return {
            name
            for name in _everything(region) - case.before
            if not name.startswith("persistentvolumeclaim/") and not name.endswith(CREDENTIALS)
        }

    # The key opens a backup of the region's authority (docs/uninstall.md); here both have one namespace.
    kept = {"secret/osctl-digest-key", f"secret/osctl-authority-key.{region.namespace}"}

    def gone() -> bool:
        return left() <= kept

    wait_until("no more is left", gone, 120, lambda: str(sorted(left())))


def _wait_refused(region: Region) -> None:
    def refused() -> bool:
        return bool(region.condition("SpecValid").get("reason") == "VersionStepRefused")

    wait_until("refused for its broker", refused)


def _empty_the_broker(region: Region) -> None:
    """As docs/upgrade.md says: that of the previous builds is too old for the data to be taken over."""
    region.edit(mode="Paused")
    wait_until("paused", lambda: {one["spec"]["mode"] for one in region.get("hb")["items"]} == {"Paused"})
    region.kubectl("delete", "statefulset", "rabbitmq-rabbitmq")
    names = [one["metadata"]["name"] for one in region.get("pvc")["items"]]
    brokers = [name for name in names if name.startswith("rabbitmq-data-")]
    region.kubectl("delete", "pvc", *brokers)


@pytest.mark.parametrize("name", UPGRADED, ids="upgrade-of-{}".format)
def test_a_region_of_the_previous_builds_is_upgraded_to_the_pinned_ones(
    charts: Path,
    previous: Path,
    sandbox: Sandbox,
    tmp_path: Path,
    name: str,
    record_property: Record,
) -> None:
    for case in applied(sandbox, previous, specs()[name], tmp_path):
        region = case.region
        region.wait_ready(READY_SECONDS)
        claims, before, made = region.claims(), region.revisions(), _made_whole(region)
        region.edit(charts={"repository": f"file://{charts}"})
        _wait_refused(region)
        assert region.revisions() == before
        _empty_the_broker(region)
        began = time.monotonic()
        region.edit(mode="Apply")
        region.wait_ready(READY_SECONDS)
        record_property("ready", case.told(f"upgrade-of-{name}", began))

        # What differs between the builds is upgraded once; charts of our own are not touched.
        assert _made_whole(region) == made + Counter(made.keys() - OURS)
        assert {state for _, state in region.revisions().values()} == {"deployed"}
        assert made.keys() == case.wanted
        assert _failed(region) == {}
        assert claims <= region.claims()
