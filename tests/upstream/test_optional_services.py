"""Services that are in no preset, because of what they need: refused without it, and right with it."""

from __future__ import annotations

import base64
import configparser
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.errors import SpecInvalid
from tests.render.specs import POOLS, brought
from tests.upstream.regions import objects, region

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(600)]

# Service, and why it is refused until its part of a spec is there.
NEEDS = {
    "dns": "Designate has no name servers",
    "load-balancer": "no amphora can be created without",
    "instance-ha": "Masakari does not detect failed hosts and servers",
    "shared-file-system": "Manila's generic driver serves shares from servers",
    "metering": "the chart's image of db_sync, gnocchi_api, gnocchi_metricd,",
}
CEPH = {
    "ceph": {
        "source": "Secret",
        "namespace": "storage",
        "secretName": "cluster",
        "shares": {"filesystem": "shared"},
    }
}


def spec(*services: str, **features: Any) -> dict[str, Any]:
    return {"preset": "compute", "features": {"services": {"enabled": list(services)}, **features}}


def made(charts: Path, release: str, whole: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    found = region(charts, whole).release(release)
    assert found is not None
    return objects(found, given={"account-suffix": ""})  # of accounts that were never rotated


def named(found: tuple[Mapping[str, Any], ...], kind: str, name: str) -> Mapping[str, Any]:
    [one] = [obj for obj in found if (obj["kind"], obj["metadata"]["name"]) == (kind, name)]
    return one


def file(found: tuple[Mapping[str, Any], ...], secret: str, key: str) -> str:
    return base64.b64decode(named(found, "Secret", secret)["data"][key]).decode()


def options(text: str) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(text)
    return parser


@pytest.mark.parametrize("service", NEEDS)
def test_a_service_is_refused_until_what_it_needs_is_there(charts: Path, service: str) -> None:
    with pytest.raises(SpecInvalid) as refusal:
        region(charts, spec(service))
    [problem] = refusal.value.problems
    assert problem.message.startswith(NEEDS[service]) and problem.remedy
    assert region(charts, {**spec(service), **brought(service)}).bundles


def test_pools_reach_designate_as_they_are_written(charts: Path) -> None:
    found = made(charts, "designate", {**spec("dns"), **brought("dns")})
    text = file(found, "designate-etc", "pools.yaml")
    assert "$" not in text
    assert yaml.safe_load(text.replace('"', "")) == POOLS  # the worker's shell takes quotes away


def test_neutron_publishes_names_as_its_account_for_designate(charts: Path) -> None:
    networking = {"extensions": ["dns"], "dnsDomain": "cloud.example.org."}
    found = made(charts, "neutron", {**spec("dns", networking=networking), **brought("dns")})
    conf = options(file(found, "neutron-etc", "neutron.conf"))
    assert conf["DEFAULT"]["external_dns_driver"] == "designate"
    assert conf["designate"]["url"] == "http://designate-api.openstack.svc.cluster.local:9001/v2"
    assert conf["designate"]["auth_url"].startswith("http://keystone-api.")
    login = options(file(found, "neutron-ks-etc", "neutron_designate.conf"))["designate"]
    assert login["username"] == "neutron_designate" and login["password"]


def test_neutron_knows_nothing_of_dns_without_designate(charts: Path) -> None:
    found = made(charts, "neutron", spec(networking={"extensions": ["dns"]}))
    assert "external_dns_driver" not in file(found, "neutron-etc", "neutron.conf")


def test_ceilometer_reads_notifications_from_the_broker_of_each_service(charts: Path) -> None:
    whole = {**spec("metering", messaging={"dedicatedBrokers": ["compute"]}), **brought("metering")}
    found = made(charts, "ceilometer", whole)
    text = file(found, "ceilometer-etc", "security.conf")
    form = r"^messaging_urls = rabbit://(\w+):\S+?@(\S+?)\.\S+?:5672/(\w+)$"
    urls = re.findall(form, text, re.MULTILINE)
    own = ["ceilometer", "cinder", "glance", "heat", "keystone", "neutron", "nova"]
    assert sorted(host for *_, host in urls) == sorted(account for account, *_ in urls) == own
    brokers = {host: broker for _, broker, host in urls}
    assert brokers.pop("nova") == "rabbitmq-compute-rabbitmq-0"
    assert set(brokers.values()) == {"rabbitmq-rabbitmq-0"}
    assert text.splitlines()[0] == "[notification]" and len(text.splitlines()) == len(urls) + 1


def test_the_agent_that_reads_notifications_is_given_their_brokers(charts: Path) -> None:
    found = made(charts, "ceilometer", {**spec("metering"), **brought("metering")})
    pod = named(found, "Deployment", "ceilometer-notification")["spec"]["template"]["spec"]
    [container] = pod["containers"]
    [mount] = [one for one in container["volumeMounts"] if one["mountPath"].endswith("ceilometer.conf.d/")]
    [volume] = [one for one in pod["volumes"] if one["name"] == mount["name"]]
    [source] = volume["projected"]["sources"]
    assert source["secret"]["name"] == "ceilometer-etc"
    assert source["secret"]["items"] == [{"key": "security.conf", "path": "brokers.conf"}]


@pytest.mark.parametrize("chart", ["cinder", "glance", "heat", "keystone", "neutron", "nova"])
def test_services_notify_ceilometer_what_happens(charts: Path, chart: str) -> None:
    found = made(charts, chart, {**spec("metering"), **brought("metering")})
    name = "glance-api.conf" if chart == "glance" else f"{chart}.conf"
    told = options(file(found, f"{chart}-etc", name))["oslo_messaging_notifications"]
    assert (told["driver"], told["topics"]) == ("messagingv2", "notifications")


def test_alarms_of_events_are_where_ceilometer_publishes_them(charts: Path) -> None:
    whole = {**spec("metering"), **brought("metering")}
    aodh = options(file(made(charts, "aodh", whole), "aodh-etc", "aodh.conf"))
    assert aodh["DEFAULT"]["transport_url"].endswith("/ceilometer")
    events = file(made(charts, "ceilometer", whole), "ceilometer-etc", "event_pipeline.yaml")
    [sink] = yaml.safe_load(events)["sinks"]
    assert "notifier://?topic=alarm.all" in sink["publishers"]


def test_shares_of_ceph_need_no_image_from_afar(charts: Path) -> None:
    found = made(charts, "manila", spec("shared-file-system", **CEPH))
    script = named(found, "ConfigMap", "manila-bin")["data"]["bootstrap.sh"]
    assert "curl" not in script and "openstack flavor" not in script
    assert "openstack share type create cephfs false" in script
    conf = options(file(found, "manila-etc", "manila.conf"))
    assert conf["DEFAULT"]["default_share_type"] == conf["DEFAULT"]["enabled_share_backends"] == "cephfs"
    assert conf["cephfs"]["driver_handles_share_servers"] == "false"
