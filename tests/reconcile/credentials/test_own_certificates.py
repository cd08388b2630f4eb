"""Certificates of the region's own authority: made, renewed, taken up in order, and no one else's touched."""

from __future__ import annotations

import base64
import contextlib
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from controller.domain.api.names import AUTHORITY_SECRET, AUTHORITY_TYPE, CA_BUNDLE_SECRET
from controller.domain.credentials.certificate_lifetimes import AUTHORITY_LIFE, DAY
from controller.domain.credentials.x509.issued import new_authority, new_leaf
from controller.domain.credentials.x509.read import Authority, LeafNames, holds, is_signed_by, read_leaf
from controller.domain.shared import metrics
from controller.domain.values.catalogue import CertificateRequest
from controller.domain.values.secret_refs import reserved
from controller.ports.kubernetes import DEPLOYMENT, HELMBUNDLE, NODE, OSDPL, SECRET
from controller.reconcile.credentials.certificates.certificate_uptake import ANNOTATION
from controller.reconcile.credentials.certificates.own_certificates import UPTAKE_SECONDS
from controller.reconcile.credentials.steps import SOON_SECONDS, Step
from controller.reconcile.shared.status_metrics import measured_region, secret_series
from tests.domain.credentials.test_x509 import intermediate, without_path_length
from tests.fakes.metrics import FakeMetrics
from tests.fakes.world import FakeRandomness
from tests.reconcile.credentials import test_secrets
from tests.reconcile.credentials.test_secrets import NS, REGION, RESYNC, Killed

KEYSTONE = CertificateRequest("keystone-tls-api", "identity", ("keystone-api", "keystone-api.openstack.svc"))
NOVA = CertificateRequest("nova-tls-api", "compute", ("nova-api",))
GLANCE = CertificateRequest("glance-tls-api", "image", ("glance-api",))
LIBVIRT = CertificateRequest("libvirt-tls", "compute", hypervisors=True)


class Bed(test_secrets.Bed):
    """A region with two releases that show certificates; `deploy` is what Helm and Kubernetes do."""

    wanted: tuple[CertificateRequest, ...] = (KEYSTONE, NOVA)

    def put_releases(self) -> None:
        for request in self.wanted:
            release = request.name.partition("-")[0]
            value = {"$secretRef": {"name": request.name, "key": "digest"}}
            labels = {"osctl.dev/deployment": REGION, "osctl.dev/service": request.service}
            meta = {"name": release, "namespace": NS, "labels": labels}
            spec = {"releases": [{"name": release, "values": {"release_uuid": value}}]}
            head = {"apiVersion": HELMBUNDLE.api_version, "kind": HELMBUNDLE.kind}
            self.kube.create({**head, "metadata": meta, "spec": spec})

    def taken_up(self, bundle: str, *, ready: str = "True") -> None:
        """Its HelmBundle tells of its present spec."""
        there = self.kube.get(HELMBUNDLE, bundle, NS) or {}
        status = {
            "observedGeneration": there["metadata"]["generation"],
            "conditions": [{"type": "Ready", "status": ready}],
        }
        self.kube.merge_patch(HELMBUNDLE, bundle, NS, {"status": status}, subresource="status")

    def deploy(self, release: str, *, ready: int = 3) -> None:
        """Its pods run with what the Secret has now, `ready` of three."""
        secret = next(one.name for one in self.wanted if one.name.startswith(release))
        annotations = {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": NS}
        template = {"metadata": {"annotations": {ANNOTATION: self.text(secret, "digest")}}}
        self.kube.delete(DEPLOYMENT, release, NS)
        body = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": release, "namespace": NS, "annotations": annotations},
            "spec": {"replicas": 3, "template": template},
            "status": {"replicas": 3, "updatedReplicas": 3, "readyReplicas": ready, "observedGeneration": 99},
        }
        self.kube.create({**body, "status": {}})
        self.kube.merge_patch(DEPLOYMENT, release, NS, {"status": body["status"]}, subresource="status")

    def give(self, authority: Authority, *, type_: str = AUTHORITY_TYPE) -> None:
        texts = {"tls.crt": authority.chain, "tls.key": authority.key}
        data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        there = self.secret("corporate-ca")
        meta = {"name": "corporate-ca", "namespace": NS}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": type_, "data": data}
        if there is None:
            self.kube.create(body)
        else:
            self.kube.replace({**there, "data": data})
        self.edit(features={"tls": {"internal": {"enabled": True, "authoritySecret": "corporate-ca"}}})

    def signers(self, *authorities: Authority) -> set[int]:
        chains = [self.text(one.name, "tls.crt") for one in self.wanted]
        return {number for number, one in enumerate(authorities) if any(is_signed_by(c, one) for c in chains)}


@pytest.fixture
def bed() -> Bed:
    return Bed()


def operators(seed: int) -> Authority:
    now = 1_700_000_000.0
    return new_authority(f"operator {seed}", now - DAY, now + 2000 * DAY, FakeRandomness(100 + seed))


def own(bed: Bed) -> Authority:
    return Authority(bed.text(AUTHORITY_SECRET, "tls.crt"), bed.text(AUTHORITY_SECRET, "ca.crt"))


def test_a_region_that_asks_for_none_has_none(bed: Bed) -> None:
    bed.wanted = ()
    bed.reconcile()
    assert bed.all_texts().keys() == {"database-credentials", "identity-credentials"}


def test_each_release_gets_its_certificate_and_all_get_the_bundle(bed: Bed) -> None:
    assert bed.reconcile() == RESYNC
    secret = bed.secret("keystone-tls-api") or {}
    assert secret["type"] == "kubernetes.io/tls"
    assert bed.texts("keystone-tls-api").keys() == {"tls.crt", "tls.key", "ca.crt", "digest"}
    assert bed.texts(CA_BUNDLE_SECRET).keys() == {"ca.crt", "digest"}
    assert bed.text(CA_BUNDLE_SECRET, "ca.crt") == bed.text("nova-tls-api", "ca.crt") == own(bed).anchors
    assert bed.signers(own(bed)) == {0}
    assert bed.condition()["status"] == "True"


def test_no_spec_may_name_the_authority(bed: Bed) -> None:
    bed.reconcile()
    secret = bed.secret(AUTHORITY_SECRET) or {}
    assert secret["type"] == AUTHORITY_TYPE
    assert reserved(AUTHORITY_SECRET)
    assert reserved("corporate-ca", AUTHORITY_TYPE)


def test_a_pass_without_a_change_writes_nothing(bed: Bed) -> None:
    bed.reconcile()
    bed.kube.forget_requests()
    bed.days(5)
    assert [one for one in bed.kube.requests if one.verb not in ("get", "list")] == []


def test_ends_of_certificates_reach_status_and_metric(bed: Bed) -> None:
    bed.reconcile()
    entries = bed.region()["status"]["secrets"]
    assert entries["keystone-tls-api"]["expires"] == "2023-12-29T22:13:20Z"
    assert entries[CA_BUNDLE_SECRET]["expires"] == "2026-11-13T22:13:20Z"
    measures = FakeMetrics()
    measured_region(measures, secret_series)("MODIFIED", bed.region())
    assert measures.value(metrics.CERTIFICATE_EXPIRY, region=REGION, secret="nova-tls-api") > 0


def test_a_renewal_changes_the_digest_of_each_certificate_once(bed: Bed) -> None:
    bed.reconcile()
    before = bed.all_texts()
    bed.days(29.9)
    assert bed.all_texts() == before
    bed.days(0.2)
    after = bed.all_texts()
    assert all(
        after[name]["digest"] != before[name]["digest"] for name in ("keystone-tls-api", "nova-tls-api")
    )
    assert after[CA_BUNDLE_SECRET] == before[CA_BUNDLE_SECRET]
    assert "CertificatesRenewed" in [reason for _, reason, _ in bed.events.seen]
    bed.days(1)
    assert bed.all_texts() == after


def test_an_edited_bundle_is_written_again(bed: Bed) -> None:
    bed.reconcile()
    before, said = bed.all_texts(), len(bed.events.seen)
    secret = bed.secret(CA_BUNDLE_SECRET) or {}
    foreign = base64.b64encode(operators(1).anchors.encode()).decode()
    bed.kube.replace({**secret, "data": {**secret["data"], "ca.crt": foreign}})
    assert bed.reconcile() == RESYNC
    assert bed.all_texts() == before
    assert len(bed.events.seen) == said


def test_an_authority_with_the_anchors_of_another_is_refused_at_each_pass(bed: Bed) -> None:
    bed.give(operators(1))
    bed.reconcile()
    before = bed.all_texts()
    secret = bed.secret("corporate-ca") or {}
    foreign = base64.b64encode(operators(2).anchors.encode()).decode()
    bed.kube.replace({**secret, "data": {**secret["data"], "ca.crt": foreign}})
    for _ in range(3):
        assert bed.reconcile() == SOON_SECONDS
    assert 'no certificate in its "ca.crt" signed' in bed.condition()["message"]
    assert "AuthorityLost" not in [reason for _, reason, _ in bed.events.seen]
    after = bed.all_texts()
    assert all(after[name] == before[name] for name in before if name != "corporate-ca")


def test_a_lost_authority_is_said_and_what_is_in_use_stays_trusted(bed: Bed) -> None:
    bed.reconcile()
    bed.put_releases()
    for release in ("keystone", "nova"):
        bed.deploy(release)
    lost, before = own(bed), bed.all_texts()
    bed.kube.delete(SECRET, AUTHORITY_SECRET, NS)
    assert bed.reconcile() == UPTAKE_SECONDS
    assert ("Warning", "AuthorityLost") in [seen[:2] for seen in bed.events.seen]
    assert bed.text("keystone-tls-api", "tls.crt") == before["keystone-tls-api"]["tls.crt"]
    assert holds(bed.text(CA_BUNDLE_SECRET, "ca.crt"), lost.anchors)
    assert bed.signers(lost) == {0}
    bed.reconcile()
    assert bed.signers(lost) == {0}  # no one has taken it up yet
    bed.deploy("keystone")
    bed.reconcile()
    assert bed.signers(lost) == {0}  # nova has not
    bed.deploy("nova", ready=2)
    bed.reconcile()
    assert bed.signers(lost) == {0}  # nor have all its pods
    bed.deploy("nova")
    bed.reconcile()
    assert bed.signers(lost) == set()
    assert bed.signers(own(bed)) == {0}
    assert holds(bed.text(CA_BUNDLE_SECRET, "ca.crt"), lost.anchors)


def test_an_operators_authority_signs_and_is_followed(bed: Bed) -> None:
    bed.give(operators(1))
    assert bed.reconcile() == RESYNC
    assert bed.signers(operators(1)) == {0}
    bed.give(operators(2))
    bed.reconcile()
    bed.reconcile()  # there is no release that would have to take it up
    assert bed.signers(operators(1), operators(2)) == {1}
    assert bed.reconcile() == RESYNC
    keys = {operators(1).key, operators(2).key}
    others = {name: texts for name, texts in bed.all_texts().items() if name != "corporate-ca"}
    assert not keys & {text for texts in others.values() for text in texts.values()}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("missing", "does not exist"),
        ("type", "the type of the Secret is not"),
        ("key", "does not belong"),
        ("ended", "not valid now: it expired on 1970-01-01T00:16:40Z"),
        ("begins", "not valid now: it is only valid from 2023-12-14T"),
        ("weak", "has 1024 bits, and clients require 2048"),
    ],
)
def test_an_authority_that_cannot_be_used_is_named_and_certificates_stay(
    bed: Bed, change: str, words: str
) -> None:
    bed.give(operators(1))
    bed.reconcile()
    before = bed.texts("nova-tls-api")
    bed.kube.delete(SECRET, "corporate-ca", NS)
    if change == "type":
        bed.give(operators(1), type_="Opaque")
    elif change == "key":
        bed.give(Authority(operators(1).chain, "", operators(2).key))
    elif change == "ended":
        bed.give(new_authority("old", 0, 1000, FakeRandomness(7)))
    elif change == "begins":
        now = bed.clock.now()
        bed.give(new_authority("early", now + 30 * DAY, now + 300 * DAY, FakeRandomness(7)))
    elif change == "weak":
        key = rsa.generate_private_key(65537, 1024)
        certificate, private = intermediate(without_path_length(), itself=True, key=key)
        bed.give(Authority(certificate, "", private))
    assert bed.reconcile() == SOON_SECONDS
    condition = bed.condition()
    assert condition["status"] == "False"
    assert 'Secret "corporate-ca"' in condition["message"]
    assert words in condition["message"]
    assert bed.texts("nova-tls-api") == before


def test_the_regions_own_authority_is_not_the_operators_and_keeps_its_key(bed: Bed) -> None:
    bed.reconcile()
    before = bed.texts(AUTHORITY_SECRET)
    assert before["tls.key"]
    bed.edit(features={"tls": {"internal": {"enabled": True, "authoritySecret": AUTHORITY_SECRET}}})
    (problem,) = bed.take(Step.CERTIFICATES).problems
    assert "belongs to the region" in problem.message
    assert bed.texts(AUTHORITY_SECRET) == before


def test_an_authority_that_ends_before_certificates_of_it_would_is_named(bed: Bed) -> None:
    now = bed.clock.now()
    bed.give(new_authority("short", now - DAY, now + 40 * DAY, FakeRandomness(7)))
    assert bed.reconcile() == SOON_SECONDS
    assert bed.signers(own(bed)) == {0}
    said = 'Secret "corporate-ca": its "tls.crt", or an authority above it, expires on 2023-12-24'
    assert said in bed.condition()["message"]
    bed.give(operators(1))
    bed.reconcile()
    bed.reconcile()
    assert bed.reconcile() == RESYNC


@pytest.mark.parametrize("name", [AUTHORITY_SECRET, CA_BUNDLE_SECRET, "nova-tls-api"])
def test_a_secret_of_others_is_named_and_never_touched(bed: Bed, name: str) -> None:
    bed.put_secret(name, {"tls.crt": "mine"})
    assert bed.reconcile() == SOON_SECONDS
    assert bed.texts(name) == {"tls.crt": "mine"}
    assert f'Secret "{name}": another program owns a Secret of this name' in bed.condition()["message"]
    assert ("keystone-tls-api" in bed.all_texts()) == (name != AUTHORITY_SECRET)


def test_an_authority_that_cannot_be_read_is_not_replaced(bed: Bed) -> None:
    bed.reconcile()
    secret, before = bed.secret(AUTHORITY_SECRET) or {}, bed.texts("nova-tls-api")
    bed.kube.replace({**secret, "data": {**secret["data"], "tls.key": "AAAA"}})
    bed.reconcile()
    assert "restore it from a backup, or delete it" in bed.condition()["message"]
    assert bed.texts("nova-tls-api") == before


def test_what_is_only_planned_so_far_makes_nothing(bed: Bed) -> None:
    bed.edit(mode="Paused")
    bed.reconcile()
    assert AUTHORITY_SECRET not in bed.all_texts()


def test_a_region_that_stays_in_mode_plan_has_its_certificates_renewed(bed: Bed) -> None:
    bed.wanted = (KEYSTONE, NOVA, LIBVIRT)
    put_node(bed, "one", "192.0.2.1")
    bed.reconcile()
    before = bed.all_texts()
    bed.edit(mode="Plan")
    bed.wanted = (CertificateRequest(KEYSTONE.name, "identity", ("other",)), LIBVIRT, GLANCE)
    bed.days(31)
    after = bed.all_texts()
    assert after.keys() == before.keys()  # what the plan asks for waits
    for name in ("keystone-tls-api", "nova-tls-api", "libvirt-tls"):
        facts = [read_leaf(texts[name]["tls.crt"], texts[name]["tls.key"]) for texts in (before, after)]
        assert facts[0] and facts[1]
        assert facts[1].end > facts[0].end
        assert (facts[0].names, facts[0].addresses) == (facts[1].names, facts[1].addresses)
        assert after[name].keys() == before[name].keys()
    assert bed.condition()["status"] == "True"
    bed.days(1)
    assert bed.all_texts() == after


def test_another_authority_waits_for_its_approval_and_says_so_once_a_renewal_is_due(bed: Bed) -> None:
    bed.reconcile()
    before = bed.all_texts()
    bed.give(operators(1))
    bed.edit(mode="Plan")
    bed.reconcile()
    assert bed.condition()["status"] == "True"
    bed.days(31)
    after = bed.all_texts()
    assert {name: after[name] for name in before} == before
    assert "approve the plan" in bed.condition()["message"]


def test_an_operators_authority_renews_in_mode_plan(bed: Bed) -> None:
    bed.give(operators(1))
    bed.reconcile()
    bed.edit(mode="Plan")
    before = bed.text("nova-tls-api", "tls.crt")
    bed.days(31)
    assert bed.text("nova-tls-api", "tls.crt") != before
    assert bed.signers(operators(1)) == {0}


def test_a_paused_region_says_that_certificates_are_due(bed: Bed) -> None:
    bed.reconcile()
    before = bed.all_texts()
    bed.edit(mode="Paused")
    bed.days(29)
    assert bed.condition()["status"] == "True"
    bed.days(2)
    assert bed.all_texts() == before
    assert bed.condition()["status"] == "False"
    assert "certificates expire on 2023-12-29, and the region is paused" in bed.condition()["message"]


def test_what_no_release_asks_for_goes_and_the_authority_last(bed: Bed) -> None:
    bed.reconcile()
    bed.put_releases()
    bed.wanted = ()
    bed.reconcile()
    assert {"nova-tls-api", AUTHORITY_SECRET} <= bed.all_texts().keys()  # values refer to it
    for release in ("keystone", "nova"):
        bed.kube.delete(HELMBUNDLE, release, NS)
    bed.reconcile()
    assert bed.all_texts().keys() == {"database-credentials", "identity-credentials"}


def test_what_pods_mount_stays_until_helm_has_taken_it_from_them(bed: Bed) -> None:
    bed.reconcile()
    bed.put_releases()
    bed.wanted = (KEYSTONE,)
    no_longer = {"releases": [{"name": "nova", "values": {}}]}
    bed.kube.merge_patch(HELMBUNDLE, "nova", NS, {"spec": no_longer})
    bed.taken_up("keystone")
    bed.reconcile()
    assert "nova-tls-api" in bed.all_texts()
    bed.taken_up("nova", ready="False")
    bed.reconcile()
    assert "nova-tls-api" in bed.all_texts()
    bed.taken_up("nova")
    bed.reconcile()
    assert "nova-tls-api" not in bed.all_texts()


def test_hypervisors_are_known_by_their_addresses(bed: Bed) -> None:
    bed.wanted = (LIBVIRT,)
    put_node(bed, "one", "192.0.2.1")
    bed.reconcile()
    texts = bed.texts("libvirt-tls")
    assert texts["servercert.pem"] == texts["client-cert.pem"] == texts["tls.crt"]
    assert texts["ca-cert.pem"] == texts["cacert.pem"] == texts["ca.crt"]
    bed.reconcile()
    assert bed.texts("libvirt-tls") == texts
    put_node(bed, "two", "192.0.2.2")
    bed.reconcile()
    with_two = bed.texts("libvirt-tls")
    assert with_two["digest"] != texts["digest"]
    bed.kube.delete(NODE, "one")
    bed.reconcile()
    assert bed.texts("libvirt-tls") == with_two


def test_an_address_is_the_same_however_its_node_writes_it(bed: Bed) -> None:
    bed.wanted = (LIBVIRT,)
    put_node(bed, "one", "2001:DB8:0::1")
    bed.reconcile()
    texts = bed.texts("libvirt-tls")
    bed.reconcile()
    assert bed.texts("libvirt-tls") == texts


def test_what_is_no_address_of_a_node_is_said_and_the_others_get_their_certificate(bed: Bed) -> None:
    bed.wanted = (LIBVIRT,)
    put_node(bed, "one", "no-address")
    put_node(bed, "two", "192.0.2.2")
    assert bed.reconcile() == SOON_SECONDS
    assert 'Node "one": its InternalIP is not an address' in bed.condition()["message"]
    assert addresses(bed) == {"192.0.2.2"}


def test_addresses_of_one_link_are_in_no_certificate(bed: Bed) -> None:
    bed.wanted = (LIBVIRT,)
    put_node(bed, "one", "192.0.2.1", "fe80::1%eth0", "169.254.3.4", "127.0.0.1", "2001:db8::1%eth0")
    assert bed.reconcile() == RESYNC
    assert addresses(bed) == {"192.0.2.1", "2001:db8::1"}


def test_more_addresses_than_a_certificate_can_name_are_said(bed: Bed) -> None:
    bed.wanted = (LIBVIRT,)
    put_node(bed, "one", *(f"10.0.{number // 250}.{number % 250}" for number in range(2049)))
    assert bed.reconcile() == SOON_SECONDS
    assert "2049 addresses" in bed.condition()["message"]
    assert len(addresses(bed)) == 2048


def addresses(bed: Bed) -> frozenset[str]:
    found = read_leaf(bed.text("libvirt-tls", "tls.crt"), bed.text("libvirt-tls", "tls.key"))
    assert found
    return found.addresses


def put_node(bed: Bed, name: str, *addresses: str) -> None:
    labels = {"openstack-compute-node": "enabled"}
    own = [{"type": "InternalIP", "address": address} for address in addresses]
    status = {"addresses": [*own, {"type": "Hostname", "address": name}]}
    meta = {"name": name, "labels": labels}
    bed.kube.create({"apiVersion": "v1", "kind": "Node", "metadata": meta})
    bed.kube.merge_patch(NODE, name, None, {"status": status}, subresource="status")


class KillOnWrite:
    """Ends the process at its so many'th write of a Secret, before or after it."""

    def __init__(self, kube: Any, left: int, *, after: bool) -> None:
        self._kube, self._left, self._after = kube, left, after

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._kube, name)
        if name not in ("create", "replace", "delete"):
            return call

        def killed(*args: Any, **more: Any) -> Any:
            self._left -= 1
            if self._left == 0 and not self._after:
                raise Killed
            found = call(*args, **more)
            if self._left == 0:
                raise Killed
            return found

        return killed


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("writes", range(1, 5))
def test_a_pass_that_is_killed_anywhere_ends_where_a_whole_one_does(writes: int, after: bool) -> None:
    for days, lose in ((0.0, False), (31.0, False), (1.0, True), (AUTHORITY_LIFE / DAY * 0.7, False)):
        bed = Bed()
        if days:
            bed.reconcile()
            bed.clock.advance(days * DAY)
        if lose:
            bed.kube.delete(SECRET, AUTHORITY_SECRET, NS)
        killed = KillOnWrite(bed.kube, writes, after=after)
        with contextlib.suppress(Killed):
            bed.take(Step.CERTIFICATES, killed)
        bed.restarted(seed=9)
        for _ in range(4):
            bed.reconcile()
        assert bed.signers(own(bed)) == {0}
        leaves = [bed.texts(one.name) for one in bed.wanted]
        assert len({leaf["ca.crt"] for leaf in leaves}) == 1
        assert "next.crt" not in bed.texts(AUTHORITY_SECRET)
        bed.kube.forget_requests()
        bed.reconcile()
        assert [one for one in bed.kube.requests if one.verb not in ("get", "list")] == []


def test_no_key_is_in_status_event_or_condition(bed: Bed, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    bed.reconcile()
    bed.days(31)
    keys = [text for texts in bed.all_texts().values() for key, text in texts.items() if key.endswith(".key")]
    shown = json.dumps(bed.region()) + repr(bed.events.seen) + caplog.text
    shown += json.dumps([one["metadata"] for one in bed.kube.objects("Secret")])
    assert keys
    lines = [line for key in keys for line in key.splitlines() if "-----" not in line]
    assert not [line for line in lines if line in shown]


def test_certificates_go_with_the_region_once_its_releases_have(bed: Bed) -> None:
    bed.reconcile()
    bed.put_releases()
    assert not any((bed.secret(name) or {})["metadata"].get("ownerReferences") for name in bed.all_texts())
    bed.kube.merge_patch(OSDPL, REGION, NS, {"metadata": {"finalizers": ["core.osctl.dev/finalizer"]}})
    bed.kube.delete(OSDPL, REGION, NS)
    bed.reconcile()
    assert {"nova-tls-api", AUTHORITY_SECRET, CA_BUNDLE_SECRET} <= bed.all_texts().keys()
    for release in ("keystone", "nova"):
        bed.kube.delete(HELMBUNDLE, release, NS)
    bed.reconcile()
    assert bed.all_texts().keys() == {"database-credentials", "identity-credentials"}


def put_foreign_leaf(bed: Bed) -> str:
    """Someone writes a certificate of another authority into a Secret of ours."""
    now = bed.clock.now()
    names = LeafNames(KEYSTONE.name, KEYSTONE.names)
    pair = new_leaf(names, now - DAY, now + 300 * DAY, operators(1), FakeRandomness(9))
    data = {
        key: base64.b64encode(text.encode()).decode()
        for key, text in {"tls.crt": pair.chain, "tls.key": pair.key}.items()
    }
    secret = bed.secret(KEYSTONE.name)
    assert secret is not None
    bed.kube.replace({**secret, "data": {**secret["data"], **data}})
    return pair.chain


def test_a_foreign_certificate_in_a_secret_of_ours_is_made_again_and_is_no_lost_authority(bed: Bed) -> None:
    bed.reconcile()
    bed.put_releases()
    bed.deploy("keystone")
    bed.deploy("nova")
    bed.reconcile()
    authority, of_nova = bed.texts(AUTHORITY_SECRET), bed.text("nova-tls-api", "tls.crt")
    foreign = put_foreign_leaf(bed)
    bed.events.seen.clear()
    bed.reconcile()
    assert bed.text(KEYSTONE.name, "tls.crt") != foreign
    assert bed.texts(AUTHORITY_SECRET) == authority
    assert bed.text("nova-tls-api", "tls.crt") == of_nova
    assert bed.events.seen == []
    bed.kube.forget_requests()
    bed.reconcile()
    assert bed.kube.writes == []


def test_a_foreign_certificate_is_made_again_also_while_an_authority_is_lost(bed: Bed) -> None:
    """No one trusts it, and everyone trusts those that stay."""
    bed.reconcile()
    bed.put_releases()
    bed.kube.delete(SECRET, AUTHORITY_SECRET, NS)
    bed.reconcile()
    of_nova = bed.text("nova-tls-api", "tls.crt")
    foreign = put_foreign_leaf(bed)
    bed.reconcile()
    assert bed.text(KEYSTONE.name, "tls.crt") != foreign
    assert bed.text("nova-tls-api", "tls.crt") == of_nova
