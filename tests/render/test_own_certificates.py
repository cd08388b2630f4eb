"""Releases use certificates that the secrets container makes, and these stand for what the charts serve."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from controller.domain.region.required_certificates import secrets_made, service_names
from controller.domain.values.catalogue import CertificateRequest
from controller.domain.values.chart_values import Values
from controller.render.region import Region
from tests.render.region import core_spec, render
from tests.render.specs import GATEWAY

OWN = {"tls": {"internal": {"enabled": True}}, "compute": {"libvirtTLS": {"enabled": False}}}


def own(**features: Any) -> Region:
    return render(core_spec(preset="core", features={**OWN, **features}))


def values(region: Region, name: str) -> Values:
    release = region.release(name)
    assert release is not None
    return release.spec.values


def kind_of(extra: Any) -> str:
    """Of an object beside those of a chart: as it is, or a template of it."""
    kind = (
        extra["kind"]
        if isinstance(extra, dict)
        else yaml.safe_load(extra.partition("\nmetadata:")[0])["kind"]
    )
    return str(kind)


def test_nothing_is_asked_of_cert_manager() -> None:
    region = own(
        services={"enabled": ["gateway", "block-storage", "orchestration", "dashboard"]},
        gateway={"className": "x"},
    )
    for bundle in region.bundles:
        for release in bundle.releases:
            objects = release.spec.values.get("extraObjects") or {}
            kinds = {kind_of(one) for one in (objects.values() if isinstance(objects, dict) else objects)}
            assert "Certificate" not in kinds
            assert "issuerRef" not in str(release.spec.values)


def test_every_api_has_a_certificate_that_its_pods_mount_and_take_up() -> None:
    region = own(services={"enabled": ["block-storage", "orchestration", "dashboard"]})
    made = secrets_made(region.certificates)
    serving = {"keystone", "placement", "glance", "neutron", "nova", "cinder", "heat", "horizon"}
    assert {f"{chart}-tls-api" for chart in serving} | {"openstack-ca-bundle"} == made.keys()
    for chart in serving:
        given = values(region, chart)
        assert given["release_uuid"] == {"$secretRef": {"name": f"{chart}-tls-api", "key": "digest"}}
        volumes = [one for each in given["pod"]["extraVolumes"].values() for one in each if "secret" in one]
        assert {one["secret"]["secretName"] for one in volumes} == {f"{chart}-tls-api"}


def test_clients_trust_the_bundle_of_the_region() -> None:
    assert values(own(), "nova")["secrets"]["tls"]["ca"] == "openstack-ca-bundle"


def test_what_shows_no_certificate_and_trusts_nobody_is_not_restarted() -> None:
    for chart in ("mariadb", "rabbitmq", "memcached", "openvswitch"):
        assert "release_uuid" not in values(own(), chart)


def test_certificates_stand_for_the_names_of_services_in_the_region() -> None:
    nova = next(one for one in own().certificates if one.name == "nova-tls-api")
    assert set(nova.names) >= set(service_names("nova-metadata", "openstack", "cluster.local"))
    other = render(core_spec(preset="core", features=OWN, internalDomainName="k8s.example"))
    assert "nova-api.openstack.svc.k8s.example" in str(other.certificates)


@pytest.mark.parametrize("more", [{"issuer": "x", "caSecret": "y"}, {"enabled": False}])
def test_no_certificate_is_made_that_nobody_asks_for(more: dict[str, Any]) -> None:
    tls = {"internal": {"enabled": True, **more}}
    region = render(core_spec(preset="core", features={**OWN, "tls": tls}))
    assert region.certificates == ()


PUBLIC = {**GATEWAY, "tls": {"public": {"enabled": True}}}


def public_request(region: Region) -> CertificateRequest | None:
    return next((one for one in region.certificates if one.name == "gateway-tls-public"), None)


@pytest.mark.parametrize("charts", [core_spec()["charts"], {}], ids=["upstream", "embedded"])
def test_the_gateway_shows_a_certificate_of_ours_for_all_public_names(charts: dict[str, Any]) -> None:
    region = render(core_spec(preset="core", charts=charts, features=PUBLIC))
    tls = values(region, "gateway")["tls"]
    assert (tls["secretName"], tls["issuer"]) == ("gateway-tls-public", "")
    request = public_request(region)
    assert request is not None
    assert list(request.names) == values(region, "gateway")["hosts"] != []
    assert "gateway-tls-public" in secrets_made(region.certificates)


@pytest.mark.parametrize(
    "features",
    [
        {**GATEWAY, "tls": {"public": {"enabled": True, "issuer": "acme"}}},
        {**GATEWAY, "tls": {"public": {"enabled": True, "secretName": "public-tls"}}},
        {**GATEWAY, "tls": {"public": {"enabled": False}}},
        {"tls": {"public": {"enabled": True}}},
    ],
    ids=["issuer", "secret", "not encrypted", "no gateway"],
)
def test_no_public_certificate_is_made_that_nobody_shows(features: dict[str, Any]) -> None:
    assert public_request(render(core_spec(preset="core", features=features))) is None
