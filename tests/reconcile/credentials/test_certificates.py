"""When certificates end: from the Secret to the osdpl's status and the metric that alerts are made of."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from controller.domain.credentials.certificates import ISSUED, TLS_TYPE
from controller.domain.shared import metrics
from controller.ports.kubernetes import SECRET
from controller.reconcile.credentials.certificates.certificate_ends import (
    CHECK_SECONDS,
    MISSING,
    READ_AT_ONCE,
    SHOWN,
)
from controller.reconcile.credentials.steps import SOON_SECONDS
from controller.reconcile.shared.status_metrics import measured_region, secret_series
from tests.fakes.metrics import FakeMetrics
from tests.reconcile.credentials.test_secrets import NS, RESYNC, Bed

PUBLIC = {"features": {"tls": {"public": {"enabled": True, "secretName": "public-tls"}}}}
INTERNAL = {"features": {"tls": {"internal": {"enabled": True, "caSecret": "region-ca"}}}}


@cache
def certificate(end: str, *, begin: str = "2020-01-01", name: str = "test") -> str:
    """A certificate that ends on this day, as PEM."""
    return _made(end, begin, name).public_bytes(serialization.Encoding.PEM).decode()


def of_unknown_version(end: str) -> str:
    """The same, except a version that no one has heard of."""
    content = _made(end, "2020-01-01", "test").public_bytes(serialization.Encoding.DER)
    odd = content.replace(bytes.fromhex("a003020102"), bytes.fromhex("a003020107"), 1)
    lines = base64.encodebytes(odd).decode()
    return f"-----BEGIN CERTIFICATE-----\n{lines}-----END CERTIFICATE-----\n"


def _made(end: str, begin: str, common_name: str) -> x509.Certificate:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(datetime.fromisoformat(f"{begin}T00:00:00+00:00"))
        .not_valid_after(datetime.fromisoformat(f"{end}T00:00:00+00:00"))
        .sign(key, hashes.SHA256())
    )


def put(
    bed: Bed, name: str, texts: dict[str, str], *, issued: bool = True, type_: str = TLS_TYPE
) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": name, "namespace": NS}
    if issued:
        meta["annotations"] = {ISSUED: name}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": type_, "stringData": texts}
    return bed.kube.create(body)


def secrets(bed: Bed) -> dict[str, dict[str, Any]]:
    bed.clock.advance(CHECK_SECONDS)
    bed.reconcile()
    found: dict[str, dict[str, Any]] = bed.region()["status"]["secrets"]
    return found


@pytest.fixture
def bed() -> Bed:
    return Bed()


def test_the_end_of_a_certificate_reaches_the_metric(bed: Bed) -> None:
    put(bed, "keystone-tls-api", {"tls.crt": certificate("2027-03-04"), "tls.key": "private"})
    entry = secrets(bed)["keystone-tls-api"]
    assert entry == {"state": "Ready", "keys": ["tls.crt", "tls.key"], "expires": "2027-03-04T00:00:00Z"}
    measures = FakeMetrics()
    measured_region(measures, secret_series)(None, bed.region())
    end = datetime(2027, 3, 4, tzinfo=UTC).timestamp()
    assert measures.value(metrics.CERTIFICATE_EXPIRY, region="region-one", secret="keystone-tls-api") == end


def test_a_renewal_is_seen(bed: Bed) -> None:
    put(bed, "mariadb-tls-direct", {"tls.crt": certificate("2027-03-04"), "tls.key": "private"})
    assert secrets(bed)["mariadb-tls-direct"]["expires"] == "2027-03-04T00:00:00Z"
    there = bed.secret("mariadb-tls-direct")
    assert there is not None
    bed.kube.replace({**there, "stringData": {"tls.crt": certificate("2027-06-04")}})
    assert secrets(bed)["mariadb-tls-direct"]["expires"] == "2027-06-04T00:00:00Z"


def test_of_a_chain_the_first_end_counts(bed: Bed) -> None:
    chain = certificate("2028-01-01") + certificate("2027-01-01")
    put(bed, "glance-tls-api", {"tls.crt": chain, "tls.key": "private", "ca.crt": certificate("2026-12-01")})
    assert secrets(bed)["glance-tls-api"]["expires"] == "2027-01-01T00:00:00Z"


def test_of_authorities_the_last_end_counts(bed: Bed) -> None:
    bed.edit(**INTERNAL)
    bundle = certificate("2026-12-01") + certificate("2036-12-01")
    put(bed, "region-ca", {"ca.crt": bundle}, issued=False, type_="Opaque")
    assert secrets(bed)["region-ca"]["expires"] == "2036-12-01T00:00:00Z"


def test_one_that_the_spec_names_counts_and_others_do_not(bed: Bed) -> None:
    for name in ("public-tls", "of-somebody-else"):
        put(bed, name, {"tls.crt": certificate("2027-03-04"), "tls.key": "private"}, issued=False)
    assert set(secrets(bed)) & {"public-tls", "of-somebody-else"} == set()
    bed.edit(**PUBLIC)
    assert set(secrets(bed)) & {"public-tls", "of-somebody-else"} == {"public-tls"}


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (None, MISSING),
        ({"tls.crt": "private", "tls.key": ""}, 'its "tls.crt" cannot be read'),
        ({"tls.crt": "", "tls.key": ""}, 'it has no "tls.crt"'),
        ({"ca.crt": "", "tls.key": ""}, 'it has no "tls.crt"'),
    ],
)
def test_one_that_the_spec_names_and_that_holds_none_is_reported(
    bed: Bed, texts: dict[str, str] | None, told: str
) -> None:
    bed.edit(**PUBLIC)
    if texts is not None:
        put(bed, "public-tls", texts, issued=False)
    entry = secrets(bed)["public-tls"]
    assert (entry["state"], entry["message"]) == ("Incomplete", told)
    assert "expires" not in entry
    condition = bed.condition()
    assert (condition["status"], condition["reason"]) == ("False", "SecretMissing")
    assert f'Secret "public-tls": {told}' in condition["message"]


def test_one_that_the_spec_names_is_seen_within_seconds_once_it_is_there(bed: Bed) -> None:
    bed.edit(**PUBLIC)
    assert bed.reconcile() == SOON_SECONDS
    put(bed, "public-tls", {"tls.crt": certificate("2027-03-04"), "tls.key": "private"}, issued=False)
    bed.clock.advance(SOON_SECONDS)
    assert bed.reconcile() == RESYNC
    assert bed.condition()["status"] == "True"


def test_one_odd_certificate_is_reported_and_keeps_nothing_else_from_being_seen(bed: Bed) -> None:
    put(bed, "odd", {"tls.crt": of_unknown_version("2027-03-04"), "tls.key": "private"})
    put(bed, "sound", {"tls.crt": certificate("2027-03-04"), "tls.key": "private"})
    found = secrets(bed)
    assert found["odd"]["message"] == 'its "tls.crt" cannot be read'
    assert found["sound"]["expires"] == "2027-03-04T00:00:00Z"
    assert bed.condition()["status"] == "True"


def test_of_authorities_those_that_can_be_read_count(bed: Bed) -> None:
    bed.edit(**INTERNAL)
    bundle = of_unknown_version("2046-12-01") + certificate("2036-12-01")
    put(bed, "region-ca", {"ca.crt": bundle}, issued=False, type_="Opaque")
    assert secrets(bed)["region-ca"] == {
        "state": "Ready",
        "keys": ["ca.crt"],
        "expires": "2036-12-01T00:00:00Z",
    }


def test_an_authority_that_an_older_one_has_signed_too_does_not_end_the_chain(bed: Bed) -> None:
    leaf = certificate("2027-03-04", begin="2026-06-01")
    put(bed, "a", {"tls.crt": leaf + certificate("2026-05-01", name="root"), "tls.key": "private"})
    chain = leaf + certificate("2026-12-01", name="root")
    put(bed, "b", {"tls.crt": chain, "tls.key": "private", "ca.crt": certificate("2036-12-01", name="root")})
    found = secrets(bed)
    assert (found["a"]["expires"], found["b"]["expires"]) == ("2027-03-04T00:00:00Z",) * 2


@pytest.mark.parametrize("spec", [{"mode": "Paused"}, {"broken": True}], ids=["paused", "not served"])
def test_certificates_are_followed_also_while_nothing_is_done(bed: Bed, spec: dict[str, Any]) -> None:
    put(bed, "a", {"tls.crt": certificate("2027-03-04"), "tls.key": "private"})
    put(bed, "goes", {"tls.crt": certificate("2027-03-04"), "tls.key": "private"})
    before = secrets(bed)
    bed.edit(**spec)
    there = bed.secret("a")
    assert there is not None
    bed.kube.replace({**there, "stringData": {"tls.crt": certificate("2027-06-04")}})
    bed.kube.delete(SECRET, "goes", NS)
    expected = {**before, "a": {**before["a"], "expires": "2027-06-04T00:00:00Z"}}
    del expected["goes"]
    assert secrets(bed) == expected


def test_what_is_gone_is_not_reported_any_more(bed: Bed) -> None:
    put(bed, "nova-client", {"tls.crt": certificate("2027-03-04"), "tls.key": "private"})
    assert "nova-client" in secrets(bed)
    bed.kube.delete(SECRET, "nova-client", NS)
    assert "nova-client" not in secrets(bed)


def test_a_content_is_read_once_for_each_version(bed: Bed) -> None:
    put(bed, "nova-client", {"tls.crt": certificate("2027-03-04"), "tls.key": "private"})
    secrets(bed)
    bed.kube.forget_requests()
    secrets(bed)
    bed.reconcile()
    assert [one.verb for one in bed.kube.requests if one.name == "nova-client"] == []
    assert bed.kube.writes == []


@pytest.mark.slow
def test_many_are_read_a_part_at_a_time_and_those_that_end_first_are_shown(bed: Bed) -> None:
    for number in range(2 * READ_AT_ONCE + 50):
        end = certificate("2027-03-04" if number % 5 else "2027-01-01")
        put(bed, f"libvirt-{number:03d}", {"tls.crt": end, "tls.key": "private"})
    assert bed.reconcile() == SOON_SECONDS
    assert bed.reconcile() == SOON_SECONDS
    assert bed.reconcile() == RESYNC
    shown = {name: one for name, one in secrets(bed).items() if "expires" in one}
    assert len(shown) == SHOWN
    assert sum(one["expires"] == "2027-01-01T00:00:00Z" for one in shown.values()) == 50
