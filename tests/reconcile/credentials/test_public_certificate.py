"""The certificate of the public endpoints that the region's own authority signs, and what clients get."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from controller.domain.api.names import AUTHORITY_SECRET, CA_BUNDLE_SECRET
from controller.domain.credentials.certificate_lifetimes import DAY
from controller.domain.credentials.x509.read import is_signed_by
from controller.domain.region.required_certificates import GATEWAY, PUBLIC_SECRET
from controller.domain.values.catalogue import CertificateRequest
from controller.ports.kubernetes import HELMBUNDLE, SECRET
from controller.reconcile.credentials.certificates.own_certificates import PUBLIC_NOTICE, UPTAKE_SECONDS
from tests.reconcile.credentials.test_clouds_export import CLOUDS, put_keystone
from tests.reconcile.credentials.test_own_certificates import KEYSTONE, Bed, operators, own
from tests.reconcile.credentials.test_secrets import NS, REGION, RESYNC

PUBLIC = CertificateRequest(PUBLIC_SECRET, GATEWAY, ("identity.example.org", "image.example.org"))
PUBLISHED = {
    "scheme": {"default": "http", "public": "https"},
    "host_fqdn_override": {"public": {"host": "identity.example.org"}},
    "port": {"api": {"public": 443}},
}


@pytest.fixture
def bed() -> Bed:
    bed = Bed()
    bed.wanted = (PUBLIC,)
    return bed


def put_gateway(bed: Bed, secret: str = PUBLIC_SECRET) -> None:
    labels = {"osctl.dev/deployment": REGION, "osctl.dev/service": GATEWAY}
    meta = {"name": GATEWAY, "namespace": NS, "labels": labels}
    values = {"tls": {"enabled": True, "secretName": secret}}
    release = {"name": GATEWAY, "chart": {"name": GATEWAY}, "values": values}
    head = {"apiVersion": HELMBUNDLE.api_version, "kind": HELMBUNDLE.kind}
    bed.kube.create({**head, "metadata": meta, "spec": {"releases": [release]}})


def clouds(bed: Bed) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(bed.texts(CLOUDS)["clouds.yaml"])["clouds"]
    return found


def test_it_is_made_and_renewed_as_the_others_are(bed: Bed) -> None:
    assert bed.reconcile() == RESYNC
    before = bed.text(PUBLIC_SECRET, "tls.crt")
    secret = bed.secret(PUBLIC_SECRET)
    assert secret and secret["type"] == "kubernetes.io/tls"
    bed.days(29)
    assert bed.text(PUBLIC_SECRET, "tls.crt") == before
    bed.days(2)
    assert bed.text(PUBLIC_SECRET, "tls.crt") != before
    assert is_signed_by(bed.text(PUBLIC_SECRET, "tls.crt"), own(bed))


def test_an_operators_authority_signs_it_also_where_nothing_else_is_encrypted(bed: Bed) -> None:
    bed.give(operators(1))
    bed.edit(features={"tls": {"internal": {"authoritySecret": "corporate-ca"}}})
    bed.reconcile()
    assert bed.signers(operators(1)) == {0}


def test_clients_outside_have_two_weeks_to_trust_the_next_authority_of_ours(bed: Bed) -> None:
    bed.reconcile()
    lost = own(bed)
    bed.kube.delete(SECRET, AUTHORITY_SECRET, NS)
    # Nothing in the region has to take it up; a look at each resync is enough.
    assert bed.reconcile() == RESYNC
    last = next(text for _, reason, text in bed.events.seen if reason == "AuthorityLost")
    assert f"from 2023-11-28 on, clients outside the cluster need the current {CA_BUNDLE_SECRET}" in last
    bed.clock.advance(PUBLIC_NOTICE - DAY)
    bed.reconcile()
    assert bed.signers(lost) == {0}
    bed.clock.advance(DAY)
    bed.reconcile()
    assert bed.signers(own(bed)) == {0} and bed.signers(lost) == set()


@pytest.mark.slow
def test_an_authority_that_follows_by_age_waits_too_and_leaves_are_renewed_meanwhile(bed: Bed) -> None:
    bed.reconcile()
    first = own(bed)
    for _ in range(27):
        bed.days(27)
    before = bed.text(PUBLIC_SECRET, "tls.crt")
    while "next.crt" not in bed.texts(AUTHORITY_SECRET):
        bed.days(1)
    bed.days(13)
    assert bed.signers(first) == {0}
    bed.days(2)
    assert bed.signers(first) == set()
    assert before != bed.text(PUBLIC_SECRET, "tls.crt")


def test_an_operators_next_authority_is_theirs_to_announce(bed: Bed) -> None:
    bed.give(operators(1))
    bed.reconcile()
    bed.give(operators(2))
    bed.reconcile()
    bed.reconcile()
    assert bed.signers(operators(2)) == {0}


def test_a_region_that_publishes_nothing_does_not_wait() -> None:
    bed = Bed()
    bed.wanted = (KEYSTONE,)
    bed.reconcile()
    lost = own(bed)
    bed.kube.delete(SECRET, AUTHORITY_SECRET, NS)
    assert bed.reconcile() == UPTAKE_SECONDS
    bed.reconcile()
    assert bed.signers(lost) == set()


def test_the_clouds_file_has_the_way_from_outside_with_the_bundle(bed: Bed) -> None:
    put_keystone(bed, **PUBLISHED)
    put_gateway(bed)
    bed.reconcile()
    public = clouds(bed)["public"]
    assert public["auth"]["auth_url"] == "https://identity.example.org/v3"
    assert (public["interface"], public["cacert"]) == ("public", "/etc/openstack/ca.crt")
    assert public["auth"]["password"] == clouds(bed)["default"]["auth"]["password"]
    assert bed.text(CLOUDS, "ca.crt") == bed.text(CA_BUNDLE_SECRET, "ca.crt")
    assert "cacert" not in clouds(bed)["default"]


def test_both_authorities_are_in_the_file_where_an_issuer_signs_inside(bed: Bed) -> None:
    put_keystone(bed, **{**PUBLISHED, "scheme": {"default": "https"}})
    put_gateway(bed)
    bed.put_secret("region-ca", {"ca.crt": operators(1).anchors})
    bed.reconcile()
    whole = bed.text(CLOUDS, "ca.crt")
    assert whole.count("BEGIN") == 2
    assert operators(1).anchors in whole and bed.text(CA_BUNDLE_SECRET, "ca.crt") in whole


def test_a_certificate_of_others_is_trusted_as_the_system_does(bed: Bed) -> None:
    put_keystone(bed, **PUBLISHED)
    put_gateway(bed, "public-tls")
    bed.reconcile()
    assert "cacert" not in clouds(bed)["public"]
    assert "ca.crt" not in bed.texts(CLOUDS)


def test_the_way_inside_does_not_wait_for_the_one_from_outside(bed: Bed) -> None:
    bed.wanted = ()
    put_keystone(bed, **PUBLISHED)
    put_gateway(bed)
    bed.reconcile()
    assert clouds(bed).keys() == {"default"}


def test_a_region_without_public_names_has_one_cloud(bed: Bed) -> None:
    put_keystone(bed)
    bed.reconcile()
    assert clouds(bed).keys() == {"default"}
