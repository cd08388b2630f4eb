"""The keys of the region's authority, which no one can use who may only read the region's Secrets."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import pytest

from controller.domain.api.names import AUTHORITY_SECRET, CA_BUNDLE_SECRET, SEALING_KEY_SECRET
from controller.domain.credentials.sealing.encrypted_keys import opened, sealed
from controller.domain.credentials.x509.read import holds
from controller.errors import Forbidden
from controller.ports.kubernetes import SECRET, KubeObject
from controller.reconcile.credentials.certificates.own_certificates import UPTAKE_SECONDS
from controller.reconcile.credentials.certificates.sealing_key import SealingKey
from tests.fakes.world import FakeRandomness
from tests.reconcile.credentials import test_own_certificates
from tests.reconcile.credentials.test_own_certificates import operators, own
from tests.reconcile.credentials.test_secrets import NS, RESYNC

OWN = "openstack-controller"
KEY = SEALING_KEY_SECRET.format(region=NS)


class Bed(test_own_certificates.Bed):
    """With a controller in a namespace of its own."""

    def sealing(self, seed: int) -> SealingKey | None:
        return SealingKey(self.kube, FakeRandomness(50 + seed), OWN, NS)

    def stored_key(self) -> str:
        return self.text(AUTHORITY_SECRET, "tls.key")


@pytest.fixture
def bed() -> Bed:
    return Bed()


def test_what_is_stored_in_the_regions_namespace_signs_nothing(bed: Bed) -> None:
    bed.reconcile()
    assert bed.signers(own(bed)) == {0}
    assert "PRIVATE KEY" not in "".join(bed.texts(AUTHORITY_SECRET).values())
    assert bed.stored_key().startswith("sealed.osctl.dev/1:")
    assert bed.kube.get(SECRET, KEY, OWN) is not None
    assert bed.kube.get(SECRET, KEY, NS) is None


def test_the_next_process_opens_it_and_writes_nothing(bed: Bed) -> None:
    bed.reconcile()
    before = bed.all_texts()
    bed.restarted(seed=3)
    assert bed.reconcile() == RESYNC
    assert bed.all_texts() == before
    bed.days(31)  # a renewal, for which it signs
    assert bed.signers(own(bed)) == {0}
    assert bed.text("nova-tls-api", "tls.crt") != before["nova-tls-api"]["tls.crt"]


def test_a_key_that_an_earlier_version_has_stored_is_sealed_and_signs_on() -> None:
    bed = test_own_certificates.Bed()
    bed.reconcile()
    before = bed.all_texts()
    after = Bed.__new__(Bed)
    vars(after).update(vars(bed))
    after.restarted()
    assert after.reconcile() == RESYNC
    assert after.stored_key().startswith("sealed.osctl.dev/1:")
    assert own(after).chain == before[AUTHORITY_SECRET]["tls.crt"]
    texts = after.all_texts()
    assert {name for name in before if texts[name] != before[name]} == {AUTHORITY_SECRET}


def test_a_lost_key_costs_the_authority_and_no_trust(bed: Bed) -> None:
    """As after a restore of the region's namespace alone."""
    bed.reconcile()
    bed.put_releases()
    for release in ("keystone", "nova"):
        bed.deploy(release)
    lost, before = own(bed), bed.all_texts()
    bed.kube.delete(SECRET, KEY, OWN)
    bed.restarted(seed=7)
    assert bed.reconcile() == UPTAKE_SECONDS
    assert bed.text("nova-tls-api", "tls.crt") == before["nova-tls-api"]["tls.crt"]
    assert bed.signers(lost) == {0}
    assert holds(bed.text(CA_BUNDLE_SECRET, "ca.crt"), lost.anchors)
    for release in ("keystone", "nova"):
        bed.deploy(release)
    bed.reconcile()
    assert bed.signers(lost) == set()
    assert holds(bed.text(CA_BUNDLE_SECRET, "ca.crt"), lost.anchors)


def test_a_key_that_cannot_be_read_is_said_with_the_remedy_and_nothing_is_replaced(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    bed.reconcile()
    before, get = bed.all_texts(), bed.kube.get

    def refused(resource: Any, name: str, namespace: str | None = None) -> KubeObject | None:
        if name == KEY:
            raise Forbidden(f'secrets "{KEY}" is forbidden')
        return get(resource, name, namespace)

    monkeypatch.setattr(bed.kube, "get", refused)
    bed.restarted(seed=9)
    bed.reconcile()
    message = bed.condition()["message"]
    assert KEY in message and "helm upgrade of the controller's chart grants the right" in message
    monkeypatch.undo()
    assert bed.all_texts() == before


def test_an_entry_that_is_no_key_is_said_and_nothing_is_replaced(bed: Bed) -> None:
    bed.reconcile()
    before = bed.all_texts()
    live = bed.kube.get(SECRET, KEY, OWN) or {}
    bed.kube.replace({**live, "data": {"key": base64.b64encode(b"short").decode()}})
    bed.restarted(seed=9)
    bed.reconcile()
    assert "has no key in its entry" in bed.condition()["message"]
    after: Mapping[str, Any] = bed.all_texts()
    assert {name: after[name] for name in before} == before


def test_an_operators_key_stays_where_the_operator_has_it(bed: Bed) -> None:
    bed.reconcile()
    bed.give(operators(1))
    bed.put_releases()
    for _ in range(3):
        for release in ("keystone", "nova"):
            bed.deploy(release)
        bed.reconcile()
    assert bed.signers(operators(1)) == {0}
    assert "PRIVATE KEY" not in "".join(bed.texts(AUTHORITY_SECRET).values())


def test_what_is_sealed_opens_with_its_key_in_its_place_and_is_the_same_each_time() -> None:
    key, other = b"a" * 64, b"b" * 64
    text = sealed("secret", key, "here")
    assert text == sealed("secret", key, "here") and "secret" not in text
    assert opened(text, key, "here") == "secret"
    assert opened(text, other, "here") == opened(text, key, "there") == opened(text[:-4], key, "here") == ""
    assert opened("as it was", key, "here") == "as it was"
