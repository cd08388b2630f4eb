"""An operator's own certificate of the public endpoints: its authority, and what is reported of it."""

from __future__ import annotations

import pytest

from controller.domain.credentials.certificate_lifetimes import DAY
from controller.domain.credentials.x509.issued import new_leaf
from controller.domain.credentials.x509.read import Authority, LeafNames
from controller.ports.kubernetes import HELMBUNDLE, SECRET
from tests.fakes.world import FakeRandomness
from tests.reconcile.credentials.test_clouds_export import CLOUDS, put_keystone
from tests.reconcile.credentials.test_own_certificates import Bed, operators
from tests.reconcile.credentials.test_public_certificate import PUBLISHED, clouds
from tests.reconcile.credentials.test_secrets import NS, REGION

NAME, HOSTS = "api-cert", ("identity.example.org", "image.example.org")


def put_gateway(bed: Bed) -> None:
    labels = {"osctl.dev/deployment": REGION, "osctl.dev/service": "gateway"}
    meta = {"name": "gateway", "namespace": NS, "labels": labels}
    values = {"tls": {"enabled": True, "secretName": NAME}, "hosts": list(HOSTS)}
    release = {"name": "gateway", "chart": {"name": "gateway"}, "values": values}
    head = {"apiVersion": HELMBUNDLE.api_version, "kind": HELMBUNDLE.kind}
    bed.kube.create({**head, "metadata": meta, "spec": {"releases": [release]}})


def leaf(bed: Bed, authority: Authority, *names: str, seed: int = 9) -> dict[str, str]:
    now = bed.clock.now()
    made = new_leaf(LeafNames(names[0], names), now - DAY, now + 90 * DAY, authority, FakeRandomness(seed))
    return {"tls.crt": made.chain, "tls.key": made.key}


@pytest.fixture
def bed() -> Bed:
    bed = Bed()
    bed.wanted = ()
    put_keystone(bed, **PUBLISHED)
    put_gateway(bed)
    bed.edit(features={"tls": {"public": {"enabled": True, "secretName": NAME}}})
    return bed


def test_a_private_authority_reaches_the_clouds_file_from_the_secret_with_the_certificate(bed: Bed) -> None:
    authority = operators(1)
    bed.put_secret(NAME, {**leaf(bed, authority, *HOSTS), "ca.crt": authority.anchors})
    bed.reconcile()
    assert clouds(bed)["public"]["cacert"] == "/etc/openstack/ca.crt"
    assert "cacert" not in clouds(bed)["default"]
    assert bed.text(CLOUDS, "ca.crt") == authority.anchors


def test_without_a_private_authority_clients_trust_whom_the_system_does(bed: Bed) -> None:
    bed.put_secret(NAME, {**leaf(bed, operators(1), *HOSTS), "ca.crt": "no certificate"})
    bed.reconcile()
    assert "cacert" not in clouds(bed)["public"]
    assert "ca.crt" not in bed.texts(CLOUDS)


def test_the_secret_that_the_spec_names_counts_first(bed: Bed) -> None:
    bed.put_secret(NAME, leaf(bed, operators(1), *HOSTS))
    public = {"enabled": True, "secretName": NAME, "caSecret": "corporate-root"}
    bed.edit(features={"tls": {"public": public}})
    bed.reconcile()
    assert "corporate-root" in bed.condition()["message"]
    bed.put_secret("corporate-root", {"ca.crt": operators(1).anchors})
    bed.reconcile()
    assert bed.text(CLOUDS, "ca.crt") == operators(1).anchors
    assert clouds(bed)["public"]["cacert"] == "/etc/openstack/ca.crt"


def test_what_clients_would_refuse_is_reported_and_holds_nothing_up(bed: Bed) -> None:
    bed.put_secret(NAME, leaf(bed, operators(1), "other.example"))
    bed.reconcile()
    found = bed.condition()
    assert (found["status"], found["reason"]) == ("True", "CredentialDoubtful")
    assert (
        "has a certificate for other.example, not for identity.example.org, image.example.org"
        in found["message"]
    )
    bed.kube.delete(SECRET, NAME, NS)
    bed.put_secret(NAME, leaf(bed, operators(1), *HOSTS))
    bed.reconcile()
    assert "clients refuse" not in bed.condition()["message"]


def test_the_key_of_another_certificate_is_reported(bed: Bed) -> None:
    good, other = leaf(bed, operators(1), *HOSTS), leaf(bed, operators(1), *HOSTS, seed=8)
    bed.put_secret(NAME, {**good, "tls.key": other["tls.key"]})
    bed.reconcile()
    assert "has a tls.key that does not belong to tls.crt" in bed.condition()["message"]
