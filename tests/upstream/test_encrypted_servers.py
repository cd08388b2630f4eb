"""MariaDB and RabbitMQ of OpenStack-Helm's charts with certificates of the region's own authority."""

from __future__ import annotations

import base64
import configparser
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from controller.adapters.system.values_files import load_library
from controller.domain.region.required_certificates import secrets_made
from controller.domain.values.chart_values import lookup
from controller.errors import SpecInvalid
from controller.reconcile.credentials.certificates.certificate_uptake import ANNOTATION
from controller.render.region import Region
from tests.openstack.encrypted_servers import CLIENT_QUERY
from tests.render.region import ROOT
from tests.upstream.regions import MADE_UP, objects, region, releases, store

# Services whose servers take certificates of clients.
SERVERS = ("database", "messaging")

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(600)]

ALL = ["database", "messaging", "endpoints"]
CERTS = {"database": "/etc/mysql/certs", "messaging": "/etc/rabbitmq/certs"}
KEYS = {"database": "tls.oslo_db", "messaging": "tls.oslo_messaging"}
WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob")
APIS = ["block-storage", "orchestration", "dashboard"]


def spec(traffic: list[str], *services: str, preset: str = "core") -> dict[str, Any]:
    features = {
        "services": {"enabled": list(services)},
        "messaging": {"dedicatedBrokers": ["compute"]},
        "tls": {"internal": {"enabled": True, "traffic": traffic}},
    }
    return {"preset": preset, "features": features}


REGIONS = {
    "all": spec(ALL, *APIS),
    "servers": spec(ALL[:2], *APIS, "key-manager", "shared-file-system"),
    "database": spec(ALL[:1], *APIS, "key-manager", "shared-file-system"),
}


@pytest.fixture(params=REGIONS)
def made(request: pytest.FixtureRequest, charts: Path) -> tuple[Region, list[str]]:
    asked = REGIONS[request.param]
    return region(charts, asked), asked["features"]["tls"]["internal"]["traffic"]


def everything(found: Region) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    for release in releases(found):
        for obj in objects(release, namespace="openstack"):
            yield release, obj


def test_nothing_is_asked_of_cert_manager(made: tuple[Region, list[str]]) -> None:
    assert not [obj["metadata"]["name"] for _, obj in everything(made[0]) if obj["kind"] == "Certificate"]


def secrets_of(pod: Mapping[str, Any]) -> set[str]:
    volumes = pod.get("volumes") or ()
    return {one["secret"]["secretName"] for one in volumes if "secret" in one}


def pod_of(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    body = obj["spec"]["jobTemplate"]["spec"] if obj["kind"] == "CronJob" else obj["spec"]
    found: Mapping[str, Any] = body["template"]["spec"]
    return found


def test_every_pod_that_speaks_to_them_mounts_a_secret_that_we_make(made: tuple[Region, list[str]]) -> None:
    found, _ = made
    keys = secrets_made(found.certificates)
    mounted: dict[str, set[str]] = {}
    for release, obj in everything(found):
        if obj["kind"] not in WORKLOADS:
            continue
        pod = pod_of(obj)
        places = [
            mount
            for container in (*pod.get("initContainers", ()), *pod["containers"])
            for mount in container.get("volumeMounts") or ()
            if mount["mountPath"].startswith(tuple(CERTS.values()))
        ]
        named = {one["name"]: one["secret"]["secretName"] for one in pod["volumes"] if "secret" in one}
        for mount in places:
            secret = named[mount["name"]]
            assert mount["mountPath"].rpartition("/")[2] in keys[secret], (obj["metadata"]["name"], mount)
            mounted.setdefault(release.spec.name, set()).add(secret)
    expected = {one.spec.name for one in releases(found) if one.spec.chart.omit_templates}
    assert mounted.keys() == expected
    assert all(len(secrets) == 1 for secrets in mounted.values())


def test_every_workload_of_theirs_is_replaced_with_its_certificate(made: tuple[Region, list[str]]) -> None:
    for release, obj in everything(made[0]):
        if not release.spec.chart.omit_templates or obj["kind"] not in WORKLOADS[:3]:
            continue
        name = release.spec.values["release_uuid"]["$secretRef"]["name"]
        assert obj["spec"]["template"]["metadata"]["annotations"][ANNOTATION] == f"{MADE_UP}-{name}-digest"


def connections(found: Region) -> Iterator[tuple[str, str]]:
    """Each connection to a database in files and Secrets, by its release."""
    for release, obj in everything(found):
        if obj["kind"] != "Secret":
            continue
        texts = {
            key: base64.b64decode(text).decode() for key, text in (obj.get("data") or {}).items() if text
        }
        for name, text in {**texts, **(obj.get("stringData") or {})}.items():
            if name == "DB_CONNECTION" and release.spec.chart.name != "mariadb":
                yield release.spec.name, text
            if not name.endswith(".conf") or "connection" not in text:
                continue
            parser = configparser.RawConfigParser(strict=False)
            parser.read_string(text)
            for section in parser.sections():
                url = parser.get(section, "connection", fallback="")
                more = parser.get(section, "connection_parameters", fallback="")
                if "mysql" in url:
                    yield release.spec.name, f"{url}?{more}" if more else url


def test_every_connection_to_the_database_knows_it_by_the_authority(made: tuple[Region, list[str]]) -> None:
    found, traffic = made
    seen = dict(connections(found))
    assert {"keystone", "glance", "nova", "neutron", "cinder", "heat", "placement"} <= seen.keys()
    query = CLIENT_QUERY.format(certs=CERTS["database"])
    for release, url in connections(found):
        # The last one says nothing to SQLAlchemy, which ignores what has no value.
        expected = query.removesuffix("&ssl_verify_cert") if "database" in traffic else ""
        assert url.partition("?")[2].removesuffix("&ssl_verify_cert") == expected, release


def test_jobs_that_make_accounts_show_a_certificate(made: tuple[Region, list[str]]) -> None:
    found, traffic = made
    for release, obj in everything(found):
        name = obj["metadata"]["name"]
        for suffix, kind in (("db-init", "database"), ("rabbit-init", "messaging")):
            if obj["kind"] == "Job" and name.endswith(suffix):
                mounts = [one["mountPath"] for one in pod_of(obj)["containers"][0]["volumeMounts"]]
                shows = any(one.startswith(CERTS[kind]) for one in mounts)
                assert shows == (kind in traffic), (release.spec.name, name)


def test_the_catalogue_knows_which_charts_can_show_a_certificate(charts: Path) -> None:
    asked = spec(ALL[:2], *APIS, "key-manager", "shared-file-system")
    for release in releases(region(charts, asked)):
        defaults = store().defaults(release.spec.chart)
        able = {server for server in KEYS if lookup(defaults, tuple(KEYS[server].split("."))) is not None}
        if lookup(defaults, ("endpoints", "oslo_messaging")) is None:
            able -= {"messaging"}
        entries = load_library(ROOT / "values").catalogue.services.values()
        known = next(
            one.charts[release.spec.chart.name] for one in entries if release.spec.chart.name in one.charts
        )
        assert set(known.clients) == able, release.spec.name


def test_builds_that_name_no_secret_of_a_client_are_refused(previous: Path) -> None:
    with pytest.raises(SpecInvalid, match="do not support client certificates"):
        region(previous, spec(ALL[:2], *APIS))
