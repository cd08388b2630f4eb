"""A Ceph cluster learns what the region needs, and what it has already is never overwritten."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import yaml

from controller.errors import Forbidden, ObjectMissing
from controller.ports.kubernetes import HELMBUNDLE, SECRET, KubeObject, Resource
from controller.reconcile.credentials.ceph.ceph_request import ROOK_KINDS
from tests.domain.credentials.ceph.samples import KEYS
from tests.fakes.kube import Request
from tests.reconcile.credentials.ceph_bed import ROOK, CephBed
from tests.reconcile.credentials.test_secrets import NS, REGION, Killed

POOL, CLIENT = ROOK_KINDS["CephBlockPool"], ROOK_KINDS["CephClient"]
PASSWORD = {"$secretRef": {"name": "object-storage-credentials", "key": "swift-password"}}


def asking_rook() -> CephBed:
    bed = CephBed()
    assert bed.ceph
    bed.ceph = replace(bed.ceph, request="Rook")
    bed.put_rook()
    return bed


def put_gateway(bed: CephBed) -> None:
    bed.put(SECRET, "object-storage-credentials", {"swift-password": "pw-of-the-gateway"}, NS)
    labels = {"osctl.dev/deployment": REGION, "osctl.dev/service": "object-storage"}
    override = {"public": {"host": "identity.example.org"}}
    identity = {
        "auth": {"swift": {"password": PASSWORD}},
        "host_fqdn_override": override,
        "scheme": {"public": "https"},
        "port": {"api": {"public": 443}},
    }
    release = {
        "name": "ceph-rgw",
        "chart": {"name": "ceph-rgw"},
        "values": {"endpoints": {"identity": identity}},
    }
    meta = {"name": "object-storage", "namespace": NS, "labels": labels}
    body = {"apiVersion": HELMBUNDLE.api_version, "kind": HELMBUNDLE.kind, "metadata": meta}
    bed.kube.create({**body, "spec": {"releases": [release]}})


def in_ceph(bed: CephBed, resource: Resource, name: str) -> KubeObject:
    found = bed.kube.get(resource, name, ROOK)
    assert found
    return found


def request_of(bed: CephBed) -> dict[str, Any]:
    data = in_ceph(bed, SECRET, "openstack-ceph-request")["data"]
    found: dict[str, Any] = yaml.safe_load(base64.b64decode(data["request.yaml"]))
    return found


def theirs(kind: Resource, name: str, **spec: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": ROOK}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, "spec": spec}


def test_any_cluster_is_reported_in_a_secret() -> None:
    bed = CephBed()
    bed.put_rook()
    bed.reconcile()
    assert set(request_of(bed)) == {"pools", "clients", "filesystems"}
    labels = in_ceph(bed, SECRET, "openstack-ceph-request")["metadata"]["labels"]
    assert labels["osctl.dev/region-namespace"] == NS
    assert bed.kube.get(POOL, "images", ROOK) is None


def test_rooks_objects_are_made_when_asked_to() -> None:
    bed = asking_rook()
    bed.reconcile()
    assert in_ceph(bed, POOL, "volumes")["spec"] == {"failureDomain": "host", "replicated": {"size": 3}}
    assert in_ceph(bed, CLIENT, "gnocchi")["spec"] == {
        "caps": {"mon": "allow r", "osd": "allow rwx pool=gnocchi.metrics"}
    }
    assert bed.kube.get(SECRET, "openstack-ceph-request", ROOK) is None
    assert bed.condition()["status"] == "True"


@pytest.mark.parametrize("source", ["Rook", "Secret"])
def test_the_gateways_user_of_keystone_is_reported_once_its_release_is_asked_for(source: str) -> None:
    bed = CephBed(source=source)
    bed.put_rook()
    bed.put_offer()
    put_gateway(bed)
    bed.reconcile()
    keystone = request_of(bed)["rgw"]["keystone"]
    assert (keystone["user"], keystone["password"]) == ("swift", "pw-of-the-gateway")
    inside = f"http://keystone-api.{NS}.svc.cluster.local:5000"
    assert keystone["url"] == (inside if source == "Rook" else "https://identity.example.org")


def test_rooks_gateway_gets_its_user_as_a_secret_and_follows_it() -> None:
    bed = asking_rook()
    put_gateway(bed)
    bed.reconcile()
    texts = in_ceph(bed, SECRET, "openstack-rgw-keystone")["data"]
    assert base64.b64decode(texts["OS_PASSWORD"]) == b"pw-of-the-gateway"
    bed.put(SECRET, "object-storage-credentials", {"swift-password": "pw-of-another-day"}, NS)
    bed.reconcile()
    texts = in_ceph(bed, SECRET, "openstack-rgw-keystone")["data"]
    assert base64.b64decode(texts["OS_PASSWORD"]) == b"pw-of-another-day"


@pytest.mark.parametrize("ask", [asking_rook, CephBed])
def test_a_second_look_writes_nothing(ask: Any) -> None:
    bed = ask()
    bed.reconcile()
    bed.kube.forget_requests()
    bed.restarted(seed=1).reconcile((NS, REGION))
    assert bed.kube.writes == []


def test_what_rook_adds_to_a_spec_stays_and_what_is_ours_comes_back() -> None:
    bed = asking_rook()
    bed.reconcile()
    pool = in_ceph(bed, POOL, "images")
    spec = {**pool["spec"], "replicated": {"size": 2, "subFailureDomain": "osd"}, "mirroring": {}}
    bed.kube.replace({**pool, "spec": spec})
    bed.reconcile()
    assert in_ceph(bed, POOL, "images")["spec"] == {
        "failureDomain": "host",
        "replicated": {"size": 3, "subFailureDomain": "osd"},
        "mirroring": {},
    }


def renamed_pool(bed: CephBed) -> None:
    """The spec names another pool for disks; servers still have theirs in the one before."""
    assert bed.ceph
    clients = tuple(
        replace(
            one,
            capabilities={kind: text.replace("=vms", "=disks") for kind, text in one.capabilities.items()},
        )
        for one in bed.ceph.clients
    )
    bed.ceph = replace(bed.ceph, clients=clients)


def test_a_client_keeps_what_servers_may_still_use_and_that_is_reported() -> None:
    bed = asking_rook()
    bed.reconcile()
    renamed_pool(bed)
    bed.reconcile()
    caps = in_ceph(bed, CLIENT, "cinder")["spec"]["caps"]
    assert caps["osd"] == (
        "profile rbd pool=volumes, profile rbd pool=vms, profile rbd-read-only pool=images, "
        "profile rbd pool=disks"
    )
    assert caps["mgr"] == "profile rbd pool=volumes, profile rbd pool=vms, profile rbd pool=disks"
    condition = bed.condition()
    assert condition["status"] == "True"
    assert "CephClient rook-ceph/cinder has more capabilities than needed" in condition["message"]
    assert "osd 'profile rbd pool=vms'" in condition["message"]
    assert "kubectl -n rook-ceph edit cephclient cinder" in condition["message"]
    bed.kube.forget_requests()
    bed.reconcile()
    assert bed.kube.writes == []


def test_a_client_that_is_narrowed_by_hand_stays_so() -> None:
    bed = asking_rook()
    bed.reconcile()
    renamed_pool(bed)
    bed.reconcile()
    client = in_ceph(bed, CLIENT, "cinder")
    assert bed.ceph
    [needed] = [dict(one.capabilities) for one in bed.ceph.clients if one.name == "cinder"]
    bed.kube.replace({**client, "spec": {"caps": needed}})
    bed.reconcile()
    assert in_ceph(bed, CLIENT, "cinder")["spec"]["caps"] == needed
    assert "more than is needed" not in bed.condition()["message"]


def test_a_client_of_ours_that_others_made_an_administrator_is_reported() -> None:
    bed = asking_rook()
    bed.reconcile()
    client = in_ceph(bed, CLIENT, "cinder")
    bed.kube.replace({**client, "spec": {"caps": {"mon": "allow *", "osd": "allow *"}}})
    bed.reconcile()
    assert "grants an administrator's capabilities" in bed.condition()["message"]


def test_what_any_cluster_was_informed_of_clients_stays_in_the_request_and_that_is_reported() -> None:
    bed = CephBed()
    bed.put_rook()
    bed.reconcile()
    renamed_pool(bed)
    assert bed.ceph
    kept = tuple(one for one in bed.ceph.clients if one.name != "gnocchi")
    bed.ceph = replace(bed.ceph, clients=kept)
    bed.reconcile()
    clients = request_of(bed)["clients"]
    assert "profile rbd pool=vms" in clients["cinder"]["caps"]["osd"]
    assert "profile rbd pool=disks" in clients["cinder"]["caps"]["osd"]
    assert clients["gnocchi"]["caps"]["osd"] == "allow rwx pool=gnocchi.metrics"
    message = bed.condition()["message"]
    assert "requests more capabilities than needed" in message and "cinder, gnocchi" in message
    assert "kubectl -n rook-ceph delete secret openstack-ceph-request" in message
    bed.kube.forget_requests()
    bed.reconcile()
    assert bed.kube.writes == []
    bed.kube.delete(SECRET, "openstack-ceph-request", ROOK)
    bed.reconcile()
    assert "gnocchi" not in request_of(bed)["clients"]


def test_pools_and_clients_of_others_are_used_and_not_touched() -> None:
    bed = asking_rook()
    bed.kube.create(theirs(POOL, "images", erasureCoded={"dataChunks": 2}))
    bed.kube.create(theirs(CLIENT, "glance", caps={"mon": "profile rbd", "osd": "profile rbd"}))
    before = [in_ceph(bed, POOL, "images"), in_ceph(bed, CLIENT, "glance")]
    bed.reconcile()
    assert [in_ceph(bed, POOL, "images"), in_ceph(bed, CLIENT, "glance")] == before
    assert bed.condition()["status"] == "True"


def test_the_key_of_a_client_that_may_do_everything_is_withheld_and_reported_once() -> None:
    bed = asking_rook()
    bed.kube.create(theirs(CLIENT, "cinder", caps={"mon": "allow *", "osd": "allow *"}))
    bed.reconcile()
    message = bed.condition()["message"]
    assert 'CephClient "rook-ceph/cinder": the CephClient does not belong to the controller' in message
    assert message.count("grants an administrator's capabilities") == 1
    assert not bed.secret("pvc-ceph-client-key") and not bed.secret("cinder-volume-rbd-keyring")
    assert bed.digests().keys() == {"glance", "gnocchi", "manila-share"}
    bed.kube.replace({**in_ceph(bed, CLIENT, "cinder"), "spec": {"caps": dict(_needed(bed, "cinder"))}})
    bed.reconcile()
    assert bed.texts("pvc-ceph-client-key")["key"] == KEYS["cinder"]


def _needed(bed: CephBed, user: str) -> Mapping[str, str]:
    assert bed.ceph
    return next(one.capabilities for one in bed.ceph.clients if one.name == user)


def test_a_client_of_others_that_may_do_too_little_is_reported_with_what_it_needs() -> None:
    bed = asking_rook()
    bed.kube.create(theirs(CLIENT, "glance", caps={"mon": "profile rbd", "osd": "profile rbd pool=x"}))
    bed.reconcile()
    assert (
        "lacks capabilities; grant it mon 'profile rbd', osd 'profile rbd pool=images'"
        in (bed.condition()["message"])
    )


def test_another_regions_request_is_not_overwritten() -> None:
    bed = CephBed()
    bed.put_rook()
    bed.put(SECRET, "openstack-ceph-request", {"request.yaml": "another's"})
    bed.reconcile()
    assert (
        'Secret "rook-ceph/openstack-ceph-request": the object does not belong to the controller'
        in bed.condition()["message"]
    )
    data = in_ceph(bed, SECRET, "openstack-ceph-request")["data"]
    assert base64.b64decode(data["request.yaml"]) == b"another's"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (Forbidden("no"), "the controller may not write it; name the namespace in ceph.namespaces"),
        (ObjectMissing("no"), "the definition of this kind, does not exist; check that Rook is installed"),
    ],
)
def test_what_cannot_be_asked_for_is_reported_and_the_rest_goes_on(
    error: Exception, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bed = asking_rook()
    create = bed.kube.create

    def refused(obj: Any) -> KubeObject:
        if obj["apiVersion"] == POOL.api_version:
            raise error
        return create(obj)

    monkeypatch.setattr(bed.kube, "create", refused)
    bed.reconcile()
    assert text in bed.condition()["message"]
    assert bed.digests()


@pytest.mark.parametrize("nth", range(1, 11))
def test_killed_while_it_asks_it_asks_for_the_rest(nth: int) -> None:
    bed, count = asking_rook(), 0

    def kill(request: Request) -> None:
        nonlocal count
        count += request.namespace == ROOK
        if count == nth:
            raise Killed

    bed.kube.after_write = kill
    with contextlib.suppress(Killed):
        bed.reconcile()
    bed.kube.after_write = lambda request: None
    bed.restarted(seed=1).reconcile((NS, REGION))
    assert len(bed.kube.objects("CephBlockPool")) == 5 and len(bed.kube.objects("CephClient")) == 5


def test_a_spec_that_is_only_planned_asks_for_nothing() -> None:
    bed = CephBed(mode="Plan")
    bed.reconcile()
    assert bed.kube.get(SECRET, "openstack-ceph-request", ROOK) is None


def test_the_gateways_password_is_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    bed = CephBed()
    put_gateway(bed)
    bed.reconcile()
    assert "pw-of-the-gateway" not in json.dumps(bed.region()) + repr(bed.events.seen) + caplog.text
