"""Releases use certificates that the secrets container makes, and these stand for what the charts serve."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.region.required_certificates import secrets_made, service_names
from controller.domain.values.catalogue import CertificateRequest
from controller.domain.values.chart_values import Values
from controller.errors import SpecInvalid
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


@pytest.mark.slow
def test_nothing_is_asked_of_cert_manager() -> None:
    region = own(
        services={"enabled": ["gateway", "block-storage", "orchestration", "dashboard"]},
        gateway={"className": "x"},
    )
    for bundle in region.bundles:
        for release in bundle.releases:
            objects = str(release.spec.values.get("extraObjects"))  # some are texts
            assert "kind: Certificate" not in objects and "'kind': 'Certificate'" not in objects
            assert "issuerRef" not in str(release.spec.values)


@pytest.mark.slow
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


def test_a_pod_without_certificate_and_trust_is_not_restarted() -> None:
    for chart in ("mariadb", "rabbitmq", "memcached", "openvswitch"):
        assert "release_uuid" not in values(own(), chart)


def test_certificates_stand_for_the_names_of_services_in_the_region() -> None:
    nova = next(one for one in own().certificates if one.name == "nova-tls-api")
    assert set(nova.names) >= set(service_names("nova-metadata", "openstack", "cluster.local"))
    other = render(core_spec(preset="core", features=OWN, internalDomainName="k8s.example"))
    assert "nova-api.openstack.svc.k8s.example" in str(other.certificates)


@pytest.mark.parametrize("more", [{"issuer": "x", "caSecret": "y"}, {"enabled": False}])
def test_no_certificate_is_made_without_a_request(more: dict[str, Any]) -> None:
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
def test_no_public_certificate_is_made_that_is_not_shown(features: dict[str, Any]) -> None:
    assert public_request(render(core_spec(preset="core", features=features))) is None


SERVERS = {**OWN, "tls": {"internal": {"enabled": True, "traffic": ["database", "messaging"]}}}
TEMPLATE = ("templates/certificates.yaml",)


def of_servers(**features: Any) -> Region:
    return render(core_spec(preset="core", features={**SERVERS, **features}))


def test_the_database_and_the_broker_show_our_certificates_and_require_none() -> None:
    region = of_servers()
    for chart in ("mariadb", "rabbitmq"):
        found = region.release(chart)
        assert found is not None
        assert found.spec.chart.omit_templates == TEMPLATE
        assert found.spec.values["manifests"]["certificates"] is True
        assert found.spec.values["release_uuid"]["$secretRef"]["name"] == f"{chart}-tls-direct"
    assert {"mariadb-tls-direct", "rabbitmq-tls-direct"} <= secrets_made(region.certificates).keys()


def test_their_certificates_stand_for_all_names_by_which_clients_and_pods_find_them() -> None:
    region = of_servers(messaging={"dedicatedBrokers": ["compute"]})
    named = {one.name: set(one.names) for one in region.certificates}
    database = {*service_names("mariadb", "openstack", "cluster.local"), "mariadb-server"}
    assert named["mariadb-tls-direct"] >= {*database, "*.mariadb-discovery.openstack.svc.cluster.local"}
    for broker in ("rabbitmq", "rabbitmq-compute"):
        pods = f"*.{broker}.openstack.svc.cluster.local"
        names = {*service_names(broker, "openstack", "cluster.local"), pods}
        assert named[f"{broker}-tls-direct"] == names


def test_every_client_of_them_shows_one_certificate_and_is_restarted_by_it() -> None:
    region = of_servers()
    made = secrets_made(region.certificates)
    for chart in ("keystone", "placement", "glance", "neutron", "nova"):
        given = values(region, chart)
        assert given["secrets"]["tls"]["client"] == {chart: f"{chart}-client"}
        assert given["release_uuid"] == {"$secretRef": {"name": f"{chart}-client", "key": "digest"}}
        assert f"{chart}-client" in made
        found = region.release(chart)
        assert found is not None and found.spec.chart.omit_templates == TEMPLATE


def test_a_chart_whose_apis_are_encrypted_shows_the_certificate_of_these() -> None:
    region = of_servers(tls={"internal": {"enabled": True, "traffic": ["database", "endpoints"]}})
    assert values(region, "nova")["secrets"]["tls"]["client"] == {"nova": "nova-tls-api"}
    assert not [one for one in secrets_made(region.certificates) if one.endswith("-client")]


def test_without_anything_said_the_database_and_the_broker_stay_as_they_are() -> None:
    region = own()
    for bundle in region.bundles:
        for release in bundle.releases:
            assert release.spec.chart.omit_templates == ()
    assert "manifests" not in values(region, "rabbitmq")
    assert not [one for one in secrets_made(region.certificates) if one.endswith(("-direct", "-client"))]


def test_charts_that_ask_an_issuer_keep_their_templates() -> None:
    issued = {"enabled": True, "issuer": "x", "caSecret": "y"}
    region = of_servers(tls={"internal": {**issued, "traffic": ["database", "messaging", "endpoints"]}})
    for bundle in region.bundles:
        assert {one.spec.chart.omit_templates for one in bundle.releases} == {()}


@pytest.mark.parametrize(
    ("enabled", "kind", "traffic"),
    [
        ("load-balancer", "database", ["database"]),
        ("load-balancer", "messaging", ["database", "messaging"]),
        ("metering", "database", ["database"]),
    ],
)
def test_services_whose_charts_cannot_encrypt_are_refused_by_name(
    enabled: str, kind: str, traffic: list[str]
) -> None:
    text = f"the charts of {enabled} cannot use (an )?encrypted {kind}; remove .{kind}., or disable"
    with pytest.raises(SpecInvalid, match=text):
        of_servers(services={"enabled": [enabled]}, tls={"internal": {"enabled": True, "traffic": traffic}})


def test_a_database_that_others_run_has_no_certificate_of_ours() -> None:
    external = {"address": "192.0.2.10", "administrator": "keeper"}
    password = {"root-password": {"name": "theirs", "key": "password"}}
    tls = {"internal": {"enabled": True, "traffic": ["database"]}}
    with pytest.raises(SpecInvalid, match=r"own authority does not sign certificates for database\.external"):
        of_servers(database={"external": external}, credentials={"database": password}, tls=tls)


def test_the_broker_is_not_encrypted_without_the_database() -> None:
    with pytest.raises(SpecInvalid, match=r'with messaging but without database, .*; add "database"'):
        of_servers(tls={"internal": {"enabled": True, "traffic": ["messaging"]}})
