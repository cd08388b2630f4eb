"""When certificates end: from the Secret to the osdpl's status and the metric that alerts are made of."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from controller.domain import metrics
from controller.domain.certificates import ISSUED, TLS_TYPE
from controller.ports import SECRET
from controller.reconcile.certificates import LOOK_EVERY, MISSING, READ_AT_ONCE, SHOWN
from controller.reconcile.secrets import LOOK_AGAIN
from controller.reconcile.status_metrics import measured_region, secret_series
from tests.fakes.metrics import FakeMetrics
from tests.reconcile.test_secrets import NS, RESYNC, Bed

PUBLIC = {"features": {"tls": {"public": {"enabled": True, "secretName": "public-tls"}}}}
INTERNAL = {"features": {"tls": {"internal": {"enabled": True, "caSecret": "region-ca"}}}}


@cache
def certificate(end: str) -> str:
    """A certificate that ends on this day, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime.fromisoformat(f"{end}T00:00:00+00:00"))
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM).decode()


def put(
    bed: Bed, name: str, texts: dict[str, str], *, issued: bool = True, type_: str = TLS_TYPE
) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": name, "namespace": NS}
    if issued:
        meta["annotations"] = {ISSUED: name}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": type_, "stringData": texts}
    return bed.kube.create(body)


def secrets(bed: Bed) -> dict[str, dict[str, Any]]:
    bed.clock.advance(LOOK_EVERY)
    bed.look()
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


def test_one_that_the_spec_names_counts_whoever_made_it_and_others_do_not(bed: Bed) -> None:
    for name in ("public-tls", "of-somebody-else"):
        put(bed, name, {"tls.crt": certificate("2027-03-04"), "tls.key": "private"}, issued=False)
    assert set(secrets(bed)) & {"public-tls", "of-somebody-else"} == set()
    bed.edit(**PUBLIC)
    assert set(secrets(bed)) & {"public-tls", "of-somebody-else"} == {"public-tls"}


@pytest.mark.parametrize(
    "texts", [None, {"tls.crt": "private", "tls.key": ""}, {"tls.crt": "", "tls.key": ""}]
)
def test_one_that_the_spec_names_and_that_holds_none_is_told(bed: Bed, texts: dict[str, str] | None) -> None:
    bed.edit(**PUBLIC)
    if texts is not None:
        put(bed, "public-tls", texts, issued=False)
    entry = secrets(bed)["public-tls"]
    assert (entry["state"], entry["message"]) == ("Incomplete", MISSING)
    assert "expires" not in entry


def test_what_is_gone_is_not_told_any_more(bed: Bed) -> None:
    put(bed, "nova-client", {"tls.crt": certificate("2027-03-04"), "tls.key": "private"})
    assert "nova-client" in secrets(bed)
    bed.kube.delete(SECRET, "nova-client", NS)
    assert "nova-client" not in secrets(bed)


def test_a_content_is_read_once_for_each_version(bed: Bed) -> None:
    put(bed, "nova-client", {"tls.crt": certificate("2027-03-04"), "tls.key": "private"})
    secrets(bed)
    bed.kube.forget_requests()
    secrets(bed)
    bed.look()
    assert [one.verb for one in bed.kube.requests if one.name == "nova-client"] == []
    assert bed.kube.writes == []


def test_many_are_read_a_part_at_a_time_and_those_that_end_first_are_shown(bed: Bed) -> None:
    for number in range(2 * READ_AT_ONCE + 50):
        end = certificate("2027-03-04" if number % 5 else "2027-01-01")
        put(bed, f"libvirt-{number:03d}", {"tls.crt": end, "tls.key": "private"})
    assert bed.look() == LOOK_AGAIN
    assert bed.look() == LOOK_AGAIN
    assert bed.look() == RESYNC
    shown = {name: one for name, one in secrets(bed).items() if "expires" in one}
    assert len(shown) == SHOWN
    assert sum(one["expires"] == "2027-01-01T00:00:00Z" for one in shown.values()) == 50
