"""An own certificate that clients would refuse is reported, with the reason."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import pytest

from controller.cli.offline.input_files import InputObject
from controller.cli.offline.own_certificates import certificate_warnings
from controller.cli.offline.region import OfflineRegion
from controller.domain.credentials.x509.issued import new_authority, new_leaf
from controller.domain.credentials.x509.read import LeafNames
from tests.fakes.world import FakeRandomness
from tests.render.region import core_spec, deployment, library, render

NOW = 1_800_000_000.0
YEAR = 365 * 86400.0


@dataclass(frozen=True)
class Given:
    """A pair of texts in PEM."""

    chain: str
    key: str


def pair(name: str, begin: float = NOW - YEAR, end: float = NOW + YEAR, *, seed: int = 1) -> Given:
    source = FakeRandomness(seed)
    authority = new_authority("own", NOW - 3 * YEAR, NOW + 3 * YEAR, source)
    leaf = new_leaf(LeafNames(name, (name,)), begin, end, authority, source)
    return Given(leaf.chain, leaf.key)


def told(chain: str, key: str, *, name: str = "api-cert") -> list[str]:
    public = {"enabled": True, "secretName": "api-cert"}
    services = {"enabled": ["gateway"]}
    spec = core_spec(
        features={"services": services, "gateway": {"className": "x"}, "tls": {"public": public}}
    )
    data = {
        "tls.crt": base64.b64encode(chain.encode()).decode(),
        "tls.key": base64.b64encode(key.encode()).decode(),
    }
    obj: dict[str, Any] = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}
    region = OfflineRegion(InputObject({"spec": spec}, "region.yaml"), deployment(spec), render(spec))
    found = list(certificate_warnings(region, [InputObject(obj, "region.yaml")], library().catalogue, NOW))
    assert {problem.path for problem in found} <= {"spec.features.tls.public.secretName"}
    return [problem.message for problem in found]


@pytest.mark.slow
def test_a_certificate_that_serves_is_not_reported() -> None:
    good = pair("*.it.just.works")
    assert told(good.chain, good.key) == []


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (pair("*.it.just.works", NOW - 2 * YEAR, NOW - YEAR), "has a certificate that expired on"),
        (pair("*.it.just.works", NOW + YEAR, NOW + 2 * YEAR), "has a certificate that is only valid from"),
        (pair("*.other.example"), "has a certificate for *.other.example, not for"),
        (Given(pair("*.it.just.works").chain, ""), "has no tls.key"),
        (
            Given("no certificate", pair("*.it.just.works").key),
            "has no certificate in tls.crt",
        ),
    ],
)
def test_what_clients_would_refuse_is_reported(given: Given, says: str) -> None:
    [message] = told(given.chain, given.key)
    assert message.startswith(f"Secret api-cert {says}")


def test_the_key_of_another_certificate_is_reported() -> None:
    good, other = pair("*.it.just.works"), pair("*.it.just.works", seed=2)
    [message] = told(good.chain, other.key)
    assert message == "Secret api-cert has a tls.key that does not belong to tls.crt"


def test_another_secret_is_not_looked_at() -> None:
    assert told("x", "y", name="other") == []
