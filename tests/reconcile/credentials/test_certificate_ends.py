"""Certificates that end soon: an Event for each, and for each of the alert's thresholds, once."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.domain.credentials.certificate_ends import THRESHOLDS
from controller.domain.credentials.secret_status import with_certificates
from controller.reconcile.credentials.certificates.certificate_ends import CHECK_SECONDS
from tests.reconcile.credentials.test_certificates import certificate, put
from tests.reconcile.credentials.test_secrets import NS, REGION, Bed, Killed

ALERTS = Path(__file__).parents[3] / "charts/openstack-controller/files/monitoring/alerts.yaml"
DAY = 86400.0
END, LATER = "2027-03-04", "2027-06-04"


@pytest.fixture
def bed() -> Bed:
    return Bed()


def days_before(bed: Bed, days: float, end: str = END) -> None:
    """Moves the clock to so many days before the end, and has a pass follow."""
    moment = datetime.fromisoformat(end).replace(tzinfo=UTC).timestamp() - days * DAY
    bed.clock.advance(moment - bed.clock.now())
    bed.reconcile()


def told(bed: Bed) -> list[tuple[str, str]]:
    """The type and text of every Event about ends, cleared."""
    found = [(type_, text) for type_, reason, text in bed.events.seen if reason == "CertificateExpires"]
    bed.events.seen.clear()
    return found


def of(name: str, end: str = END) -> dict[str, str]:
    return {"tls.crt": certificate(end, name=name), "tls.key": "private"}


def entry(bed: Bed, name: str) -> dict[str, Any]:
    found: dict[str, Any] = bed.region()["status"]["secrets"][name]
    return found


def test_it_is_reported_once_at_each_threshold(bed: Bed) -> None:
    put(bed, "keystone-tls-api", of("keystone"))
    seen = []
    for days in (15, 14.1, 13.9, 13.8, 2.1, 1.9, 1.8, -0.1, -0.2, -30):
        days_before(bed, days)
        seen.append([text.partition(":")[0] for _, text in told(bed)])
    name = 'the certificate in Secret "keystone-tls-api"'
    soon = f"{name} ends on {END}, in less than 14 days"
    sooner = f"{name} ends on {END}, in less than 2 days"
    assert seen == [[], [], [soon], [], [], [sooner], [], [f"{name} ended on {END}"], [], []]


def test_it_is_a_warning_with_the_way_on(bed: Bed) -> None:
    put(bed, "keystone-tls-api", of("keystone"))
    days_before(bed, 1)
    ((type_, text),) = told(bed)
    assert type_ == "Warning"
    assert "docs/runbooks/OpenStackCertificateExpires.md" in text


def test_a_renewal_ends_it_and_the_next_certificate_is_reported_again(bed: Bed) -> None:
    put(bed, "keystone-tls-api", of("keystone"))
    days_before(bed, 10)
    assert len(told(bed)) == 1 and entry(bed, "keystone-tls-api")["endsWithin"] == "14d"
    there = bed.secret("keystone-tls-api")
    assert there is not None
    bed.kube.replace({**there, "stringData": of("keystone", LATER)})
    bed.clock.advance(CHECK_SECONDS)
    bed.reconcile()
    assert told(bed) == [] and "endsWithin" not in entry(bed, "keystone-tls-api")
    days_before(bed, 10, LATER)
    assert len(told(bed)) == 1


def test_a_short_one_is_reported_for_each_certificate(bed: Bed) -> None:
    put(bed, "keystone-tls-api", of("keystone"))
    days_before(bed, 10)
    there = bed.secret("keystone-tls-api")
    assert there is not None
    bed.kube.replace({**there, "stringData": of("keystone", "2027-03-05")})
    told(bed)
    bed.clock.advance(CHECK_SECONDS)
    bed.reconcile()
    assert [text.partition(",")[0] for _, text in told(bed)] == [
        'the certificate in Secret "keystone-tls-api" ends on 2027-03-05'
    ]


def test_those_that_end_together_are_reported_together(bed: Bed) -> None:
    for name in ("a", "b"):
        put(bed, name, of(name))
    put(bed, "c", of("c", "2027-03-05"))
    days_before(bed, 10)
    found = [text.partition(",")[0] for _, text in told(bed)]
    assert found[0] == 'the certificates in Secrets "a"'
    assert [text.partition(" in Secret")[0] for text in found] == ["the certificates", "the certificate"]


def test_it_is_not_reported_again_by_another_process(bed: Bed) -> None:
    put(bed, "keystone-tls-api", of("keystone"))
    days_before(bed, 10)
    assert len(told(bed)) == 1
    bed.restarted(seed=1).reconcile((NS, REGION))
    assert told(bed) == []


def test_killed_before_it_is_noted_it_is_reported_by_the_next_process(bed: Bed) -> None:
    put(bed, "keystone-tls-api", of("keystone"))
    bed.reconcile()

    def killed(request: Any) -> None:
        if request.kind == "OpenStackDeployment":
            raise Killed

    bed.kube.before_write = killed
    with pytest.raises(Killed):
        days_before(bed, 10)
    bed.kube.before_write = lambda request: None
    bed.restarted(seed=1).reconcile((NS, REGION))
    # With the same words: the Event there counts one more.
    assert len(set(told(bed))) == 1


@pytest.mark.parametrize("spec", [{"mode": "Paused"}, {"broken": True}], ids=["paused", "not served"])
def test_it_is_reported_also_while_nothing_is_done(bed: Bed, spec: dict[str, Any]) -> None:
    put(bed, "keystone-tls-api", of("keystone"))
    bed.edit(**spec)
    days_before(bed, 10)
    assert len(told(bed)) == 1
    days_before(bed, 9)
    assert told(bed) == []


@pytest.mark.parametrize(("end", "kept"), [(END, True), (LATER, False)])
def test_a_credential_with_a_certificate_is_reported_while_the_spec_is_not_served(
    end: str, kept: bool
) -> None:
    known = {"digest": "d", "expires": f"{END}T00:00:00Z", "endsWithin": "14d", "keys": ["a"]}
    found = {"expires": f"{end}T00:00:00Z", **({"endsWithin": "14d"} if kept else {})}
    merged = with_certificates({"own": known}, {"own": found})["own"]
    assert (merged["expires"], "endsWithin" in merged) == (found["expires"], kept)
    assert (merged["digest"], merged["keys"]) == ("d", ["a"])


def test_the_alerts_begin_with_the_same_days() -> None:
    groups = yaml.safe_load(ALERTS.read_text())["groups"]
    rules = [
        rule for group in groups for rule in group["rules"] if rule["alert"] == "OpenStackCertificateExpires"
    ]
    days = [int(rule["expr"].partition("< ")[2].partition(" *")[0]) for rule in rules]
    assert days == [int(word.removesuffix("d")) for word in THRESHOLDS][:2]
