"""What Ceph offers comes to its consumers: whole, once for each change, and never over others' work."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from controller.domain.values.ceph_needs import CONSUMERS_SECRET, CephNeeds
from controller.domain.values.chart_values import secret_ref
from controller.errors import Forbidden
from controller.ports.kubernetes import CONFIGMAP, HELMBUNDLE, OSDPL, SECRET, KubeObject, Resource
from controller.reconcile.credentials.steps import ELSEWHERE_SECONDS, SOON_SECONDS
from tests.domain.credentials.ceph.samples import DOCUMENT, KEYS, ROOK_MONITORS, key_of, rook_client
from tests.fakes.kube import Request
from tests.reconcile.credentials.ceph_bed import ROOK, CephBed
from tests.reconcile.credentials.rotation_bed import record_secret
from tests.reconcile.credentials.test_secrets import NS, REGION, Killed

CONSUMERS = {
    "glance",
    "cinder-volume",
    "cinder-backup",
    "libvirt",
    "nova-compute",
    "gnocchi",
    "manila-share",
}


@pytest.fixture
def bed() -> CephBed:
    bed = CephBed()
    bed.put_rook()
    bed.reconcile()
    return bed


def offered_by_secret() -> CephBed:
    bed = CephBed(source="Secret")
    bed.put_offer()
    return bed


def test_rooks_offer_is_in_the_shapes_that_the_charts_mount(bed: CephBed) -> None:
    assert bed.texts("images-rbd-keyring")["key"] == KEYS["glance"]
    assert bed.texts("pvc-ceph-client-key")["key"] == KEYS["cinder"]
    assert (bed.secret("images-rbd-keyring") or {})["type"] == "kubernetes.io/rbd"
    assert "mon_host = [v2:10.96.1.1:3300,v1:10.96.1.1:6789]," in bed.conf()
    assert bed.digests().keys() == CONSUMERS
    assert bed.condition()["status"] == "True"


def test_the_same_of_a_cluster_that_is_not_rooks() -> None:
    bed = offered_by_secret()
    bed.reconcile()
    assert bed.texts("gnocchi-rbd-keyring")["key"] == KEYS["gnocchi"]
    assert "mon_host = [v2:192.0.2.1:3300],[v2:192.0.2.2:3300,v1:192.0.2.2:6789]\n" in bed.conf()
    assert bed.digests().keys() == CONSUMERS and bed.condition()["status"] == "True"


def test_an_offer_in_the_regions_own_namespace_serves_as_well() -> None:
    bed = CephBed(source="Secret")
    assert bed.ceph
    bed.ceph = replace(bed.ceph, namespace=NS)
    bed.put(SECRET, "openstack-ceph", {"ceph.yaml": DOCUMENT}, NS)
    bed.reconcile()
    assert bed.digests().keys() == CONSUMERS and bed.secret("openstack-ceph-request")
    bed.kube.forget_requests()
    bed.reconcile()
    assert bed.kube.writes == []


def owned(bed: CephBed) -> set[str]:
    """Those that an osdpl owns, as Kubernetes' garbage collector sees it."""
    found = {name: bed.secret(name) or bed.kube.get(CONFIGMAP, name, NS) for name in bed.data()}
    return {name for name, one in found.items() if one and one["metadata"].get("ownerReferences")}


def own(bed: CephBed) -> None:
    """As an earlier version left them."""
    owner = {"apiVersion": "osctl.dev/v1alpha1", "kind": "OpenStackDeployment", "name": REGION, "uid": "u"}
    for name in bed.data():
        resource = SECRET if bed.secret(name) else CONFIGMAP
        bed.kube.merge_patch(resource, name, NS, {"metadata": {"ownerReferences": [owner]}})


def test_no_osdpl_owns_what_is_made_since_one_that_is_lost_would_take_it_along(bed: CephBed) -> None:
    assert bed.data() and owned(bed) == set()


@pytest.mark.parametrize("spec", [{}, {"mode": "Plan"}, {"preset": "no-such"}])
def test_an_earlier_owner_is_taken_off_whatever_the_state_of_the_region(
    bed: CephBed, spec: dict[str, str]
) -> None:
    own(bed)
    before = bed.data()
    assert owned(bed) == set(before)
    osdpl = bed.region()
    bed.kube.replace({**osdpl, "spec": {**osdpl["spec"], **spec}})
    bed.reconcile()
    assert owned(bed) == set() and bed.data() == before


def test_without_the_exchange_an_earlier_owner_is_taken_off_too(bed: CephBed) -> None:
    own(bed)
    bed.ceph = None
    bed.reconcile()
    assert owned(bed) == set()


def test_what_is_made_goes_with_the_region_once_its_bundles_are_gone(bed: CephBed) -> None:
    labels = {"osctl.dev/deployment": REGION, "osctl.dev/service": "image"}
    meta = {"name": "image", "namespace": NS, "labels": labels}
    bed.kube.create({"apiVersion": HELMBUNDLE.api_version, "kind": HELMBUNDLE.kind, "metadata": meta})
    osdpl = bed.region()
    meta = {**osdpl["metadata"], "finalizers": ["core.osctl.dev/finalizer"]}
    bed.kube.replace({**osdpl, "metadata": meta})
    bed.kube.delete(OSDPL, REGION, NS)
    before = bed.data()
    bed.reconcile()
    assert bed.data() == before
    bed.kube.delete(HELMBUNDLE, "image", NS)
    bed.reconcile()
    assert bed.data() == {}


def test_a_second_look_writes_nothing_and_comes_again_soon(bed: CephBed) -> None:
    bed.kube.forget_requests()
    bed.clock.advance(1000)
    assert bed.restarted(seed=1).reconcile((NS, REGION)) == ELSEWHERE_SECONDS
    assert bed.kube.writes == []


def test_what_is_written_again_with_the_same_content_changes_nothing(bed: CephBed) -> None:
    before = bed.data()
    bed.put_rook()
    bed.put(CONFIGMAP, "rook-ceph-mon-endpoints", {**ROOK_MONITORS, "outOfQuorum": "c", "maxMonId": "9"})
    bed.kube.forget_requests()
    bed.reconcile()
    assert bed.kube.writes == [] and bed.data() == before


def test_a_new_key_reaches_its_consumers_and_no_other(bed: CephBed) -> None:
    before = bed.digests()
    bed.put(SECRET, "rook-ceph-client-glance", rook_client("glance", 2))
    bed.reconcile()
    after = bed.digests()
    assert bed.texts("images-rbd-keyring")["key"] == key_of("glance", 2)
    assert {consumer for consumer in CONSUMERS if before[consumer] != after[consumer]} == {"glance"}


def test_digests_are_written_last_and_at_once(bed: CephBed) -> None:
    bed.put(CONFIGMAP, "rook-ceph-mon-endpoints", {"data": "a=10.96.1.9:6789"})
    bed.put(SECRET, "rook-ceph-client-cinder", rook_client("cinder", 2))
    bed.put(SECRET, "rook-ceph-client-cinderbackup", rook_client("cinderbackup", 2))
    bed.kube.forget_requests()
    bed.reconcile()
    written = [one.name for one in bed.kube.writes if one.kind in ("Secret", "ConfigMap")]
    assert written[0] == "ceph-etc" and written[-1] == "ceph-consumers"
    assert written.count("ceph-consumers") == 1


@pytest.mark.parametrize("when", ["before_write", "after_write"])
@pytest.mark.parametrize("nth", range(1, 7))
@pytest.mark.parametrize("first", [True, False])
def test_killed_at_any_write_consumers_see_one_change(when: str, nth: int, first: bool) -> None:
    bed, whole = CephBed(), CephBed()
    for one in (bed, whole):
        one.put_rook()
        if not first:
            one.reconcile()
            one.put(CONFIGMAP, "rook-ceph-mon-endpoints", {"data": "a=10.96.1.9:6789"})
            for user in ("cinder", "cinderbackup", "glance"):
                one.put(SECRET, f"rook-ceph-client-{user}", rook_client(user, 2))
    whole.reconcile()
    before, count = bed.digests(), 0

    def kill(request: Request) -> None:
        nonlocal count
        count += request.kind in ("Secret", "ConfigMap") and request.namespace == NS
        if count == nth:
            raise Killed

    setattr(bed.kube, when, kill)
    with contextlib.suppress(Killed):
        bed.reconcile()
    setattr(bed.kube, when, lambda request: None)
    assert bed.digests() in (before, whole.digests())
    bed.restarted(seed=1).reconcile((NS, REGION))
    assert bed.data() == whole.data()


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        (
            lambda bed: bed.drop(SECRET, "rook-ceph-mon"),
            'Secret "rook-ceph/rook-ceph-mon": the object does not exist',
        ),
        (
            lambda bed: bed.put(CONFIGMAP, "rook-ceph-mon-endpoints", {"data": "a=somewhere"}),
            'ConfigMap "rook-ceph/rook-ceph-mon-endpoints": monitor 1 in its "data" is not an address',
        ),
        (
            lambda bed: bed.put(SECRET, "rook-ceph-client-glance", {"glance": "s3cr3t"}),
            'Secret "rook-ceph/rook-ceph-client-glance": its key for glance is not a key of Ceph',
        ),
        (
            lambda bed: bed.drop(SECRET, "rook-ceph-client-glance"),
            'Secret "rook-ceph/rook-ceph-client-glance": the Secret does not exist; create CephClient glance',
        ),
    ],
)
def test_what_becomes_wrong_is_reported_and_nothing_is_restarted(
    bed: CephBed, wrong: Callable[[CephBed], None], place: str
) -> None:
    before = bed.data()
    wrong(bed)
    assert bed.reconcile() == SOON_SECONDS
    condition = bed.condition()
    assert (condition["status"], condition["reason"]) == ("False", "SecretMissing")
    assert place in condition["message"] and "s3cr3t" not in json.dumps(bed.region())
    assert bed.data() == before
    entry = bed.region()["status"]["secrets"]["images-rbd-keyring"]
    assert entry["state"] == "Incomplete" and "the object waits for" in entry["message"]


def test_what_is_no_text_is_reported_as_what_it_is() -> None:
    content = base64.b64encode(b"\xff").decode()
    rook, other = CephBed(), offered_by_secret()
    rook.put_rook()
    client = rook.kube.get(SECRET, "rook-ceph-client-glance", ROOK)
    offer = other.kube.get(SECRET, "openstack-ceph", ROOK)
    assert client and offer
    rook.kube.replace({**client, "data": {"glance": content}})
    other.kube.replace({**offer, "data": {"ceph.yaml": content}})
    rook.reconcile()
    other.reconcile()
    assert "its key for glance is not a key of Ceph" in rook.condition()["message"]
    assert 'its "ceph.yaml" is not UTF-8 text' in other.condition()["message"]


def test_at_first_who_lacks_something_waits_and_the_others_do_not() -> None:
    bed = CephBed()
    bed.put_rook()
    bed.drop(SECRET, "rook-ceph-client-gnocchi")
    bed.reconcile()
    assert bed.digests().keys() == CONSUMERS - {"gnocchi"}
    assert bed.secret("gnocchi-rbd-keyring") is None
    bed.put(SECRET, "rook-ceph-client-gnocchi", rook_client("gnocchi"))
    bed.reconcile()
    assert bed.digests().keys() == CONSUMERS and bed.condition()["status"] == "True"


def test_before_anything_is_offered_nothing_is_made_and_all_is_named() -> None:
    bed = CephBed()
    bed.reconcile()
    assert bed.data() == {} and bed.condition()["status"] == "False"
    for name in ("rook-ceph-mon", "rook-ceph-mon-endpoints"):
        assert f'"{ROOK}/{name}": the object does not exist' in bed.condition()["message"]
    assert f'"{ROOK}/rook-ceph-client-cinder": the Secret does not exist' in bed.condition()["message"]


def test_a_namespace_that_the_chart_does_not_name_is_reported_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bed = CephBed()
    get = bed.kube.get

    def refused(resource: Resource, name: str, namespace: str | None = None) -> KubeObject | None:
        if namespace == ROOK:
            raise Forbidden("secrets is forbidden")
        return get(resource, name, namespace)

    monkeypatch.setattr(bed.kube, "get", refused)
    bed.reconcile()
    message = bed.condition()["message"]
    assert "name the namespace in ceph.namespaces of the controller's chart" in message
    assert bed.data() == {}


@pytest.mark.parametrize(
    ("resource", "name"),
    [(CONFIGMAP, "ceph-etc"), (SECRET, "pvc-ceph-client-key"), (SECRET, "ceph-consumers")],
)
def test_an_object_of_others_is_not_touched_and_said_to_be_in_the_way(resource: Resource, name: str) -> None:
    bed = CephBed()
    bed.put_rook()
    bed.put(resource, name, {"mine": "alone"}, NS)
    before = bed.kube.get(resource, name, NS)
    bed.reconcile()
    assert bed.kube.get(resource, name, NS) == before
    message = bed.condition()["message"]
    assert f'{resource.kind} "{name}": the object does not belong to the controller' in message
    assert f"kubectl -n {NS} label --overwrite {resource.kind.lower()} {name} " in message


def test_with_a_foreign_ceph_conf_no_client_gets_keys_of_this_cluster() -> None:
    bed = CephBed()
    bed.put_rook()
    bed.put(CONFIGMAP, "ceph-etc", {"ceph.conf": "[global]\n"}, NS)
    bed.reconcile()
    assert bed.data() == {}


def test_another_address_of_the_gateway_than_the_one_that_is_published_is_reported() -> None:
    bed = CephBed(source="Secret")
    bed.put_offer()
    bed.reconcile()
    assert "rgw" not in bed.condition()["message"]
    bed.put_offer(DOCUMENT.replace("https://rgw.example.org", "https://elsewhere.example.org"))
    bed.reconcile()
    assert "its rgw has a url other" in bed.condition()["message"]
    assert bed.condition()["status"] == "True"


def test_a_client_that_may_do_more_than_is_needed_is_reported_and_is_no_error() -> None:
    bed = CephBed(source="Secret")
    bed.put_offer(DOCUMENT.replace("osd: profile rbd pool=images", "osd: profile rbd"))
    bed.reconcile()
    assert bed.condition()["status"] == "True"
    told = "Secret rook-ceph/openstack-ceph: client glance has more capabilities than necessary"
    assert told in bed.condition()["message"]


def test_what_is_handed_over_by_labels_is_brought_up_to_date() -> None:
    bed = CephBed()
    bed.put_rook()
    bed.put(SECRET, "images-rbd-keyring", {"key": "old"}, NS)
    bed.reconcile()
    secret = bed.secret("images-rbd-keyring") or {}
    labels = {
        "app.kubernetes.io/managed-by": "openstack-controller",
        "osctl.dev/deployment": REGION,
        "osctl.dev/exchange": "ceph",
    }
    bed.kube.replace({**secret, "metadata": {**secret["metadata"], "labels": labels}})
    bed.reconcile()
    assert bed.texts("images-rbd-keyring")["key"] == KEYS["glance"]
    assert bed.condition()["status"] == "True"


def test_deleted_or_edited_by_hand_it_comes_back(bed: CephBed) -> None:
    before = bed.data()
    bed.kube.delete(SECRET, "images-rbd-keyring", NS)
    bed.put(SECRET, "ceph-consumers", {"glance": "edited"}, NS)
    bed.put(CONFIGMAP, "ceph-etc", {"ceph.conf": "edited"}, NS)
    bed.reconcile()
    assert bed.data() == before


def without_metering(needs: CephNeeds) -> CephNeeds:
    secrets = {name: user for name, user in needs.key_secrets.items() if user != "gnocchi"}
    consumers = {name: used for name, used in needs.consumers.items() if name != "gnocchi"}
    return replace(needs, key_secrets=secrets, consumers=consumers)


def test_an_unneeded_object_goes_once_no_release_refers_to_it(bed: CephBed) -> None:
    reference = {"$secretRef": {"name": "ceph-consumers", "key": "gnocchi"}}
    labels = {"osctl.dev/deployment": REGION, "osctl.dev/service": "metering"}
    bundle = {
        "apiVersion": HELMBUNDLE.api_version,
        "kind": HELMBUNDLE.kind,
        "metadata": {"name": "metering", "namespace": NS, "labels": labels},
        "spec": {"releases": [{"name": "gnocchi", "values": {"release_uuid": reference}}]},
    }
    bed.kube.create(bundle)
    assert bed.ceph
    bed.ceph = without_metering(bed.ceph)
    bed.reconcile()
    assert bed.secret("gnocchi-rbd-keyring") and "gnocchi" in bed.digests()
    bed.kube.delete(HELMBUNDLE, "metering", NS)
    bed.reconcile()
    assert bed.secret("gnocchi-rbd-keyring") is None and "gnocchi" not in bed.digests()
    assert bed.secret("images-rbd-keyring")


SETTLED = {
    "observedGeneration": 1,
    "releases": [{"name": "gnocchi", "state": "Deployed", "revision": 2}],
    "conditions": [{"type": "Ready", "status": "True"}],
}


def test_a_changed_key_is_noted_until_the_release_is_upgraded(bed: CephBed) -> None:
    ready = {"status": {"initialization": {"provisioned": True}}}
    bed.kube.merge_patch(OSDPL, REGION, NS, ready, subresource="status")
    labels = {"osctl.dev/deployment": REGION, "osctl.dev/service": "image"}
    release = {"name": "glance", "values": {"digest": secret_ref(CONSUMERS_SECRET, "glance")}}
    body = {"apiVersion": HELMBUNDLE.api_version, "kind": HELMBUNDLE.kind, "spec": {"releases": [release]}}
    bed.kube.create({**body, "metadata": {"name": "image", "namespace": NS, "labels": labels}})
    bed.kube.create(record_secret("glance", 1, {"digest": bed.digests()["glance"]}))
    bed.reconcile()
    assert "taken up" not in bed.condition()["message"]

    bed.put(SECRET, "rook-ceph-client-glance", rook_client("glance", 2))
    bed.reconcile()
    expected = "taken up by 0 of 1 release: release glance does not use it yet"
    assert expected in bed.condition()["message"] and bed.condition()["status"] == "True"

    bed.kube.create(record_secret("glance", 2, {"digest": bed.digests()["glance"]}))
    bed.reconcile()
    assert "taken up" not in bed.condition()["message"]


@pytest.mark.parametrize(
    "status",
    [
        {},
        {**SETTLED, "observedGeneration": 0},
        {**SETTLED, "conditions": [{"type": "Ready", "status": "False"}]},
    ],
)
def test_what_pods_of_an_unfinished_upgrade_mount_stays_until_it_is_taken_up(
    bed: CephBed, status: dict[str, object]
) -> None:
    labels = {"osctl.dev/deployment": REGION, "osctl.dev/service": "metering"}
    meta = {"name": "metering", "namespace": NS, "labels": labels}
    body = {"apiVersion": HELMBUNDLE.api_version, "kind": HELMBUNDLE.kind, "metadata": meta}
    made = bed.kube.create({**body, "spec": {"releases": [{"name": "gnocchi", "values": {}}]}})
    now = {**SETTLED, "observedGeneration": made["metadata"]["generation"]}
    bed.kube.merge_patch(HELMBUNDLE, "metering", NS, {"status": status}, subresource="status")
    assert bed.ceph
    bed.ceph = without_metering(bed.ceph)
    bed.reconcile()
    assert bed.secret("gnocchi-rbd-keyring") and "gnocchi" in bed.digests()
    bed.kube.merge_patch(HELMBUNDLE, "metering", NS, {"status": now}, subresource="status")
    bed.reconcile()
    assert bed.secret("gnocchi-rbd-keyring") is None and "gnocchi" not in bed.digests()


def test_without_the_exchange_nothing_is_read_and_what_there_is_stays(bed: CephBed) -> None:
    before = bed.data()
    bed.ceph = None
    bed.kube.forget_requests()
    bed.reconcile()
    assert bed.data() == before
    assert not [one for one in bed.kube.requests if one.namespace == ROOK]


def test_a_spec_that_is_only_planned_writes_nothing_and_shows_what_is_missing() -> None:
    bed = CephBed(mode="Plan")
    bed.put_rook()
    bed.drop(SECRET, "rook-ceph-client-gnocchi")
    bed.reconcile()
    assert bed.data() == {} and "rook-ceph-client-gnocchi" in bed.condition()["message"]


def test_no_key_is_in_the_status_an_event_or_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    bed = offered_by_secret()
    bed.reconcile()
    bed.put_offer(DOCUMENT.replace("pools:", "- pools:"))
    bed.reconcile()
    shown = json.dumps(bed.region()) + repr(bed.events.seen) + caplog.text
    assert bed.condition()["status"] == "False"
    for key in KEYS.values():
        assert key not in shown and base64.b64encode(key.encode()).decode() not in shown


def test_the_digests_show_nothing_of_the_keys_without_the_installations_own(bed: CephBed) -> None:
    assert all(text.startswith("hmac-sha256:") for text in bed.digests().values())


def test_the_same_offer_gives_the_same_objects_in_whatever_order_it_came(bed: CephBed) -> None:
    other = CephBed()
    for user in sorted(KEYS, reverse=True):
        other.put(SECRET, f"rook-ceph-client-{user}", rook_client(user))
        other.reconcile()
    other.put_rook()
    other.reconcile()
    assert other.data() == bed.data()
