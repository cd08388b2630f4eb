"""In which order one pass does what it does, where every part of it has something to write."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest

from controller.domain.api.names import (
    AMPHORA_SECRET,
    AUTHORITY_SECRET,
    CA_BUNDLE_SECRET,
    CLIENT_AUTHORITY_SECRET,
    CLOUDS_SECRET,
    CREDENTIAL_REGISTER,
    READER_SECRET,
    REVISION_LABEL,
    ROTATE_ANNOTATION,
    SERVER_AUTHORITY_SECRET,
    WRITTEN_ANNOTATION,
)
from controller.domain.credentials.ceph.request import REQUEST_SECRET
from controller.domain.credentials.readers import READER_CREDENTIALS
from controller.domain.credentials.rotation.accounts import Account
from controller.domain.credentials.rotation.record import RotationRecord, record_text
from controller.domain.values.catalogue import CertificateRequest, CredentialSecret
from controller.domain.values.ceph_needs import CEPH_CONF, CONSUMERS_SECRET
from controller.ports.accounts import ReaderFound, ServerLogin
from controller.ports.helm import HelmRequest, RenderedRelease
from controller.ports.kubernetes import CONFIGMAP, HELMBUNDLE, OSDPL, SECRET
from controller.reconcile.credentials.certificates.sealing_key import SealingKey
from controller.reconcile.credentials.region_pass import SecretsPorts
from controller.reconcile.credentials.step_list import credential_steps
from controller.reconcile.credentials.steps import REMOVAL as REMOVAL_ORDER
from controller.reconcile.credentials.steps import CredentialStep, Step, Steps
from tests.fakes.kube import Request
from tests.fakes.stored_helm import StoredHelm
from tests.reconcile.credentials.ceph_bed import CephBed
from tests.reconcile.credentials.rotation_bed import Servers
from tests.reconcile.credentials.test_clouds_export import put_keystone
from tests.reconcile.credentials.test_namespace_exchange import THERE, put
from tests.reconcile.credentials.test_own_certificates import KEYSTONE
from tests.reconcile.credentials.test_secrets import NS, REGION, Killed, finalize

CATALOGUE = {
    "lost": {"pass": "password"},
    "rotating": {"pass": "password"},
    "refused": {"pass": "password"},
    "noted": {"pass": "password"},
    "identity": {"admin-password": "password"},
    "load-balancer": {"ca-passphrase": "password"},
}
KEYS_OF_CEPH = (
    "images-rbd-keyring",
    "cinder-volume-rbd-keyring",
    "pvc-ceph-client-key",
    "cinder-backup-rbd-keyring",
    "gnocchi-rbd-keyring",
    "manila-keyring",
)
# What each step of a pass writes, in the order in which they come. HISTORY and CERTIFICATE_ENDS only
# read, and DISOWNING writes only in a pass that makes nothing.
ORDER: tuple[tuple[Step, tuple[str, ...]], ...] = (
    (Step.OWNERS, (CEPH_CONF,)),
    (Step.EXCHANGE, ("asked",)),
    (Step.ROTATION_RECORDS, ("rotating-credentials",)),
    (Step.RECOVERY, ("lost-credentials",)),
    (Step.GENERATION, ("identity-credentials", "load-balancer-credentials")),
    (Step.ROTATION, ("rotating-credentials", "refused-credentials")),
    (Step.READERS, (READER_CREDENTIALS, READER_SECRET)),
    (Step.TEXTS, ("noted-credentials",)),
    (Step.CERTIFICATES, (AUTHORITY_SECRET, CA_BUNDLE_SECRET, KEYSTONE.name)),
    (Step.AMPHORAE, (SERVER_AUTHORITY_SECRET, CLIENT_AUTHORITY_SECRET, AMPHORA_SECRET)),
    (Step.REGISTER, (CREDENTIAL_REGISTER,)),
    (Step.CLOUDS, (CLOUDS_SECRET,)),
    (Step.CEPH_REQUEST, (REQUEST_SECRET,)),
    (Step.CEPH, (CEPH_CONF, *KEYS_OF_CEPH, CONSUMERS_SECRET)),
)
# What a region that goes takes along once its bundles have gone: what is written, in this order.
CREDENTIALS = {READER_CREDENTIALS, *(f"{one}-credentials" for one in CATALOGUE)}
REMOVAL = (
    ("delete", {READER_SECRET}),
    ("delete", {CLOUDS_SECRET}),
    ("delete", {KEYSTONE.name, CA_BUNDLE_SECRET}),
    ("delete", {AUTHORITY_SECRET}),
    ("delete", {CEPH_CONF, *KEYS_OF_CEPH, CONSUMERS_SECRET}),
    ("replace", {"asked"}),
    ("replace", CREDENTIALS),
    ("delete", {AMPHORA_SECRET, CLIENT_AUTHORITY_SECRET, SERVER_AUTHORITY_SECRET}),
    ("delete", CREDENTIALS),
    ("delete", {CREDENTIAL_REGISTER}),
)


class Readers:
    """`controller.ports.accounts.ReaderAccounts` of a Keystone that takes everything."""

    def ensure_reader(
        self, login: ServerLogin, account: Account, password: str, mark: str, *, project: bool
    ) -> ReaderFound:
        return ReaderFound()

    def drop_readers(
        self, login: ServerLogin, domain: str, prefix: str, mark: str, keep: Collection[str]
    ) -> tuple[str, ...]:
        return ()


class WholeBed(CephBed):
    """A region of which every part of the next pass has something to write."""

    def __init__(self) -> None:
        self.asked: tuple[str, ...] = ("lost", "rotating", "refused", "noted")
        super().__init__()
        # What is there before the pass comes of one of a smaller region.
        ceph, self.ceph = self.ceph, None
        self.reconcile()
        self.kube.delete(CONFIGMAP, CREDENTIAL_REGISTER, NS)
        self.ceph, self.asked = ceph, tuple(CATALOGUE)
        self.wanted = (KEYSTONE, CertificateRequest(AMPHORA_SECRET, "load-balancer", amphorae=True))
        self.edit(features={"readOnlyAccount": {"enabled": True}})
        put_keystone(self)
        identity = self.kube.get(HELMBUNDLE, "identity", NS)
        assert identity
        identity["spec"]["releases"][0]["values"]["secrets"] = {}
        self.kube.replace(identity)
        self.put_rook()
        self._change_what_is_there()
        self.kube.forget_requests()

    def steps(self, ports: SecretsPorts, sealing: SealingKey | None) -> Steps:
        servers: Any = Servers()
        return credential_steps(ports, accounts=servers, wrapped=servers, readers=Readers(), sealing=sealing)

    def credentials_of(self, osdpl: Any) -> tuple[CredentialSecret, ...]:
        return tuple(CredentialSecret(f"{one}-credentials", one, CATALOGUE[one]) for one in self.asked)

    def _change_what_is_there(self) -> None:
        osdpl = self.region()
        owner = {"apiVersion": OSDPL.api_version, "kind": OSDPL.kind, "name": REGION}
        owner["uid"] = osdpl["metadata"]["uid"]
        labels = {
            "app.kubernetes.io/managed-by": "openstack-controller",
            "osctl.dev/deployment": REGION,
            "osctl.dev/exchange": "ceph",
        }
        meta = {"name": CEPH_CONF, "namespace": NS, "labels": labels, "ownerReferences": [owner]}
        self.kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {}})
        put(self, THERE, "given", "offer", f"{NS}/asked", password="one")
        put(self, NS, "asked", "request", f"{THERE}/given")
        record = record_text(RotationRecord(self.clock.now(), "", (), shared=("pass",)))
        entry = osdpl["status"]["secrets"]["rotating-credentials"]
        rotation = {"phase": "Rolling", "message": "", "record": record}
        osdpl["status"]["secrets"]["rotating-credentials"] = {**entry, "rotation": rotation}
        self.kube.replace(osdpl, subresource="status")
        self._lose()
        self._annotate("refused", ROTATE_ANNOTATION, "2026-11-22T12:00:00Z")
        self._annotate("noted", WRITTEN_ANNOTATION, None)

    def _lose(self) -> None:
        """A release has a record of what is gone."""
        text = self.text("lost-credentials", "pass")
        helm = StoredHelm(self.kube, self.clock, lambda _: RenderedRelease((), ()), lambda *_: "Succeeded")
        helm.install(HelmRequest("lost", NS, "lost", {"pass": text}, {REVISION_LABEL: "1"}))
        self.put_bundle("lost")
        bundle = self.kube.get(HELMBUNDLE, "lost", NS)
        assert bundle
        values = {"pass": {"$secretRef": {"name": "lost-credentials", "key": "pass"}}}
        release = {"name": "lost", "chart": {"name": "lost"}, "values": values}
        self.kube.replace({**bundle, "spec": {"releases": [release]}})
        self.kube.delete(SECRET, "lost-credentials", NS)

    def _annotate(self, service: str, name: str, text: str | None) -> None:
        patch = {"metadata": {"annotations": {name: text}}}
        self.kube.merge_patch(SECRET, f"{service}-credentials", NS, patch)


def steps_of(names: Iterable[str]) -> list[Step | str]:
    """The steps that write these objects; what fits none is left as it is."""
    found: list[Step | str] = []
    rest = list(names)
    for step, own in ORDER:
        count = next((n for n, name in enumerate(rest) if name not in own), len(rest))
        found += [step] if set(rest[:count]) == set(own) else []
        rest = rest[count:]
    return found + rest


def test_a_pass_takes_its_steps_in_their_order() -> None:
    bed = WholeBed()
    bed.reconcile()
    steps = [step for step, _ in ORDER]
    assert steps_of(one.name for one in bed.kube.changes) == [*steps, REGION]
    assert steps == [step for step in Step if step in steps]
    assert set(Step) - set(steps) == {Step.HISTORY, Step.DISOWNING, Step.CERTIFICATE_ENDS}
    assert bed.condition()["status"] == "True"


@pytest.mark.parametrize("nth", range(len(ORDER)), ids=[step for step, _ in ORDER])
def test_killed_after_any_step_the_next_pass_ends_where_one_would(nth: int) -> None:
    bed = WholeBed()
    last = sum(len(names) for _, names in ORDER[: nth + 1])
    count = 0

    def kill(request: Request) -> None:
        nonlocal count
        count += 1
        if count == last:
            raise Killed

    bed.kube.after_write = kill
    with pytest.raises(Killed):
        bed.reconcile()
    bed.kube.after_write = lambda request: None
    texts = bed.all_texts()
    bed.restarted(seed=1)
    bed.reconcile()
    assert bed.condition()["status"] == "True"
    assert {name for _, names in ORDER for name in names} <= {
        one["metadata"]["name"] for kind in ("Secret", "ConfigMap") for one in bed.kube.objects(kind)
    }
    assert all(bed.texts(name) == these for name, these in texts.items() if these)


def test_what_was_made_goes_with_the_region_in_this_order() -> None:
    bed = WholeBed()
    bed.reconcile()
    bed.edit(volumes="Delete")
    finalize(bed, ["core.osctl.dev/finalizer"])
    bed.kube.delete(OSDPL, REGION, NS)
    for bundle in ("identity", "lost"):
        bed.kube.delete(HELMBUNDLE, bundle, NS)
    bed.kube.forget_requests()
    bed.reconcile()
    written = [(one.verb, one.name) for one in bed.kube.changes]
    for verb, names in REMOVAL:
        assert set(written[: len(names)]) == {(verb, name) for name in names}
        del written[: len(names)]
    assert written == []


def test_every_step_is_taken_and_what_a_step_makes_it_takes_back() -> None:
    bed = WholeBed()
    steps = bed.steps(bed.ports(0), None)
    assert list(Step) == [step for step in Step if step in steps]
    takes_back = {name for name, step in steps.items() if type(step).remove is not CredentialStep.remove}
    assert set(REMOVAL_ORDER) == takes_back
