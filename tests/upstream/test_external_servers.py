"""A database and a broker outside of the cluster: all find them by the names of those that a region runs."""

from __future__ import annotations

import configparser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from controller.errors import SpecInvalid
from tests.render import production
from tests.render.specs import FEATURES
from tests.upstream.regions import objects, region, releases

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(600)]

SPEC = {"preset": "compute", "size": "small", **FEATURES["external-servers"]}


INTERNAL = {"enabled": True, "issuer": "region-ca", "caSecret": "region-ca-bundle"}
ENCRYPTED = {
    **SPEC,
    "features": {
        **SPEC["features"],
        "tls": {"internal": {**INTERNAL, "traffic": ["database", "messaging"]}},
    },
}


def kinds(made: tuple[Mapping[str, Any], ...]) -> dict[str, Mapping[str, Any]]:
    return {obj["kind"]: obj for obj in made}


@pytest.mark.parametrize(
    ("release", "ports", "addresses"),
    [
        ("mariadb", {3306: 3307}, ["192.0.2.10"]),
        ("rabbitmq", {5672: 5673, 15672: 15673}, ["192.0.2.11", "192.0.2.12"]),
    ],
)
def test_in_place_of_its_pods_there_is_a_service_that_leads_there(
    charts: Path, release: str, ports: dict[int, int], addresses: list[str]
) -> None:
    found = region(charts, SPEC).release(release)
    assert found is not None
    made = kinds(objects(found))
    assert set(made) == {"Service", "Endpoints"}
    assert "selector" not in made["Service"]["spec"]
    (subset,) = made["Endpoints"]["subsets"]
    assert [one["ip"] for one in subset["addresses"]] == addresses
    listening = {port["name"]: port["port"] for port in subset["ports"]}
    assert {port["port"]: listening[port["name"]] for port in made["Service"]["spec"]["ports"]} == ports


def test_every_file_of_every_service_names_the_two_services_and_nothing_of_pods(charts: Path) -> None:
    urls = {url for release in releases(region(charts, SPEC)) for url in _of_objects(objects(release))}
    hosts = {url.rpartition("@")[2].partition("/")[0].partition(".")[0] for url in urls}
    ports = {url.rpartition("@")[2].partition("/")[0].rpartition(":")[2] for url in urls}
    assert (hosts, ports) == ({"mariadb", "rabbitmq"}, {"3306", "5672"})
    assert all(url.count("@") == 1 for url in urls)  # one address: its servers have no names of pods


def _urls(text: str) -> list[str]:
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(text)
    return [
        value
        for section in (*parser.sections(), "DEFAULT")
        for key, value in parser.items(section)
        if key in ("connection", "transport_url") and "://" in value
    ]


def test_accounts_are_made_by_the_administrator_that_the_spec_names(charts: Path) -> None:
    found = region(charts, SPEC).release("nova")
    assert found is not None
    secrets = {obj["metadata"]["name"]: dict(production.files(obj)) for obj in objects(found)}
    assert secrets["nova-db-admin"]["DB_CONNECTION"].startswith(
        "mysql+pymysql://cloud:made-up-secret-servers-"
    )
    assert secrets["nova-rabbitmq-admin"]["RABBITMQ_CONNECTION"].startswith("rabbit://cloud:")


def test_of_novas_databases_none_is_moved_alone(charts: Path) -> None:
    moved = {"endpoints": {"oslo_db": {"hosts": {"default": "elsewhere"}}}}
    with pytest.raises(SpecInvalid, match=r"oslo_db at elsewhere:3306, oslo_db_(api|cell0) at mariadb:3306"):
        region(charts, {**SPEC, "services": {"compute": {"nova": {"values": moved}}}})


def test_encrypted_its_clients_verify_it_and_show_certificates_of_the_issuer(charts: Path) -> None:
    found = region(charts, ENCRYPTED)
    for name in ("keystone", "placement", "glance", "neutron", "nova", "cinder", "heat", "barbican"):
        release = found.release(name)
        assert release is not None
        made = objects(release)
        databases = [url for url in _of_objects(made) if url.startswith("mysql")]
        assert databases
        assert all("ssl_ca=" in url and "ssl_cert=" in url and "ssl_verify_cert" in url for url in databases)
        [certificate] = [obj for obj in made if obj["kind"] == "Certificate"]
        assert certificate["spec"]["issuerRef"]["name"] == "region-ca"
        assert certificate["spec"]["usages"] == ["client auth"]


def test_encrypted_the_broker_is_asked_for_accounts_by_https(charts: Path) -> None:
    found = region(charts, ENCRYPTED).release("rabbitmq")
    assert found is not None
    made = kinds(objects(found))
    assert set(made) == {"Service", "Endpoints"}  # its certificate is its owner's
    ports = {port["name"]: port["port"] for port in made["Service"]["spec"]["ports"]}
    assert ports["https"] == 15680
    (subset,) = made["Endpoints"]["subsets"]
    assert {port["name"]: port["port"] for port in subset["ports"]}["https"] == 15673
    nova = region(charts, ENCRYPTED).release("nova")
    assert nova is not None
    secrets = {obj["metadata"]["name"]: dict(production.files(obj)) for obj in objects(nova)}
    assert ":15680" in secrets["nova-rabbitmq-admin"]["RABBITMQ_CONNECTION"]
    [conf] = {text for obj in objects(nova) for name, text in production.files(obj) if name == "nova.conf"}
    section = conf.partition("[oslo_messaging_rabbit]")[2].partition("\n[")[0]
    assert "ssl = true" in section
    assert "ssl_ca_file = /etc/rabbitmq/certs/ca.crt" in section


def _of_objects(made: tuple[Mapping[str, Any], ...]) -> list[str]:
    return [
        url
        for obj in made
        for name, text in production.files(obj)
        if name.endswith(".conf") and text.startswith("[")
        for url in _urls(text)
    ]
