"""Services that cannot work without what only an operator can bring, and those that run without it."""

from __future__ import annotations

from typing import Any

import pytest

from controller.errors import Problem, SpecInvalid
from controller.render.missing_parts import MissingPart, admit_running
from controller.render.region import Region
from tests.render.region import core_spec, render
from tests.render.specs import AMPHORAE, FEATURES, OVN, POOLS, brought

pytestmark = pytest.mark.slow

# What the chart has by itself; the charts of these tests have every part switched on.
NO_MONITORS = dict.fromkeys(
    ("host_monitor", "instance_monitor", "process_monitor", "introspective_instance_monitor"), False
)
PATHS = {
    "dns": "spec.features.services.enabled",
    "instance-ha": "spec.features.services.enabled",
    "load-balancer": "spec.features.loadBalancer.provider",
    "metering": "spec.features.metering.gnocchi",
    "shared-file-system": "spec.features.services.enabled",
}


def region(service: str, *, features: dict[str, Any] | None = None, **more: Any) -> Region:
    enabled = {"services": {"enabled": [service]}, **(features or {})}
    return render(core_spec(preset="compute", features=enabled, **more))


def values(service: str, chart: str, content: dict[str, Any]) -> dict[str, Any]:
    return {"services": {service: {chart: {"values": content}}}}


def refused(service: str, **more: Any) -> list[Problem]:
    with pytest.raises(SpecInvalid) as refusal:
        region(service, **more)
    return list(refusal.value.problems)


def pools(given: Any, **more: Any) -> dict[str, Any]:
    return {**values("dns", "designate", {"conf": {"pools": given}}), **more}


@pytest.mark.parametrize("service", PATHS)
def test_a_service_without_its_parts_is_refused_with_what_to_do(service: str) -> None:
    more = values(service, "masakari", {"manifests": NO_MONITORS}) if service == "instance-ha" else {}
    [problem] = refused(service, **more)
    assert problem.path == PATHS[service]
    assert problem.remedy


@pytest.mark.parametrize("service", PATHS)
def test_a_service_with_its_parts_is_served_without_a_word(service: str) -> None:
    store = {"name": "own", "type": "custom", "conf": {"volume_driver": "example.Driver"}}
    storage = {"blockStorage": {"backends": [store]}}
    assert region(service, features=storage, **brought(service)).warnings == ()


def test_all_that_is_missing_is_reported_at_once() -> None:
    spec = core_spec(
        preset="compute", features={"services": {"enabled": ["dns", "load-balancer", "metering"]}}
    )
    with pytest.raises(SpecInvalid) as refusal:
        render(spec)
    assert len(refusal.value.problems) == 3


def test_no_preset_has_a_service_without_its_parts() -> None:
    for preset in ("core", "compute", "compute-baremetal"):
        assert render(core_spec(preset=preset), partial=True).lacking == ()


def test_a_running_region_reports_what_it_lacks_and_gets_it() -> None:
    found = render(core_spec(preset="compute", features={"services": {"enabled": ["dns"]}}), partial=True)
    assert [part.release for part in found.lacking] == ["designate"]
    assert found.release("designate") is not None


def test_what_runs_is_warned_of_and_what_does_not_is_refused() -> None:
    one, other = Problem("spec.a", "lacks this"), Problem("spec.b", "lacks that")
    missing = [MissingPart("designate", one), MissingPart("octavia", other)]
    assert admit_running(missing, {"designate", "nova"}) == ([other], [one])


# Load balancers


@pytest.mark.parametrize(
    ("section", "option"),
    [
        (section, option)
        for section, names in AMPHORAE.items()
        for option in names
        if option not in ("amp_image_tag", "amp_image_owner_id")
    ],
)
def test_each_option_that_an_amphora_needs_is_named(section: str, option: str) -> None:
    conf = {name: dict(content) for name, content in AMPHORAE.items()}
    del conf[section][option]
    more = values("load-balancer", "octavia", {"conf": {"octavia": conf}})
    [problem] = refused("load-balancer", **more)
    assert problem.message == f"no amphora can be created without {section}.{option}"


def test_an_amphora_needs_no_owner_of_its_image() -> None:
    conf = {name: dict(content) for name, content in AMPHORAE.items()}
    del conf["controller_worker"]["amp_image_owner_id"]
    assert region("load-balancer", **values("load-balancer", "octavia", {"conf": {"octavia": conf}}))


def test_flows_need_no_amphora() -> None:
    features = {"networking": OVN, "loadBalancer": {"provider": "ovn"}}
    assert region("load-balancer", features=features).release("octavia")


def test_with_ovn_the_remedy_offers_no_driver_that_makes_no_load_balancer() -> None:
    [problem] = refused("load-balancer", features={"networking": OVN})
    assert "makeNetwork" in problem.remedy and "provider" not in problem.remedy


# Names


@pytest.mark.parametrize(
    "given",
    [
        "",
        "none",
        "- name: default",
        "- {name: default, nameservers: [], targets: []}",
        "- {name: default, nameservers: [{host: 192.0.2.1}]}",
        "{",
        "- &a [*a]",
        "[" * 2000,
        [],
        [{"name": "default"}],
        ["default"],
    ],
)
def test_pools_without_name_servers_are_refused(given: Any) -> None:
    [problem] = refused("dns", **pools(given))
    assert problem.path == "spec.services.dns.designate.values.conf.pools"


@pytest.mark.parametrize("text", ["${POWERDNS_SERVICE_HOST}", "${", "${OTHER"])
def test_an_address_that_nothing_fills_in_is_refused(text: str) -> None:
    given = [{**POOLS[0], "nameservers": [{"host": text, "port": 53}]}]
    [problem] = refused("dns", **pools(given))
    assert "is unknown" in problem.message


def test_the_service_behind_which_zones_are_served_may_be_left_to_the_chart() -> None:
    targets = [{"type": "bind9", "masters": [{"host": "${MINIDNS_SERVICE_HOST}", "port": 5354}]}]
    assert region("dns", **pools([{**POOLS[0], "targets": targets}])).bundles


def test_a_template_of_the_charts_own_is_not_judged() -> None:
    assert region("dns", **pools("{{ .Values.conf.own_pools }}")).bundles


def test_a_token_of_powerdns_comes_from_a_secret() -> None:
    token = {"$secretRef": {"name": "powerdns", "key": "token"}}
    options = {"host": "192.0.2.53", "api_endpoint": "http://192.0.2.53:8081", "api_token": token}
    found = region("dns", **pools([{**POOLS[0], "targets": [{"type": "pdns4", "options": options}]}]))
    release = found.release("designate")
    assert release is not None
    assert release.spec.values["conf"]["pools"][0]["targets"][0]["options"]["api_token"] == token


def neutron(**features: Any) -> dict[str, Any]:
    release = region("dns", features=features, **brought("dns")).release("neutron")
    assert release is not None
    found: dict[str, Any] = release.spec.values["conf"]["neutron"]
    return found


PUBLISHED = {"extensions": ["dns"], "dnsDomain": "cloud.example.org."}


def test_neutron_publishes_names_where_both_ask_for_it() -> None:
    conf = neutron(networking=PUBLISHED)
    assert conf["DEFAULT"]["external_dns_driver"] == "designate"
    assert conf["designate"] == {
        "url": "http://designate-api.openstack.svc.cluster.local:9001/v2",
        "auth_url": "http://keystone-api.openstack.svc.cluster.local:5000/v3",
    }


def test_neutron_publishes_nothing_without_the_extension() -> None:
    conf = neutron()
    assert "designate" not in conf and "external_dns_driver" not in conf["DEFAULT"]


def test_names_of_ports_need_a_domain() -> None:
    [problem] = refused("dns", features={"networking": {"extensions": ["dns"]}}, **brought("dns"))
    assert problem.path == "spec.features.networking.dnsDomain"


# Shares


def shares(**conf: Any) -> dict[str, Any]:
    return values("shared-file-system", "manila", {"conf": {"manila": conf}})


FILER = {
    "share_backend_name": "filer",
    "share_driver": "manila.share.drivers.example.Driver",
    "driver_handles_share_servers": False,
}


def test_a_driver_of_ones_own_is_accepted() -> None:
    more = shares(DEFAULT={"enabled_share_backends": "filer"}, filer=FILER)
    assert region("shared-file-system", **more).release("manila")


@pytest.mark.parametrize("backends", ["filer,other", ["filer", "other"]])
def test_a_backend_without_a_driver_is_refused(backends: Any) -> None:
    [problem] = refused(
        "shared-file-system", **shares(DEFAULT={"enabled_share_backends": backends}, filer=FILER)
    )
    assert problem.message == 'store "other" does not work without share_driver'


@pytest.mark.parametrize("backends", ["generic", "filer, generic", ""])
def test_the_generic_driver_is_refused_without_an_image(backends: str) -> None:
    more = shares(DEFAULT={"enabled_share_backends": backends}, filer=FILER)
    [problem] = refused("shared-file-system", **more)
    assert "generic driver" in problem.message


def test_shares_of_ceph_have_a_type_of_their_own() -> None:
    ceph = {
        "source": "Secret",
        "namespace": "storage",
        "secretName": "cluster",
        "shares": {"filesystem": "shared"},
    }
    release = region("shared-file-system", features={"ceph": ceph}).release("manila")
    assert release is not None
    assert release.merged.values["conf"]["manila"]["DEFAULT"]["default_share_type"] == "cephfs"
    assert release.merged.values["bootstrap"]["structured"] == {"images": {}, "flavors": {}}


# Measures


def metering(release: str, **features: Any) -> dict[str, Any]:
    found = region("metering", features=features, **brought("metering")).release(release)
    assert found is not None
    return dict(found.spec.values)


def test_an_old_image_of_gnocchi_is_named_by_its_tag() -> None:
    overrides = brought("metering")["images"]["overrides"]
    left = {tag: image for tag, image in overrides.items() if tag != "gnocchi_metricd"}
    [problem] = refused("metering", images={"overrides": left})
    assert "the chart's image of gnocchi_metricd has Gnocchi 3.0.3" in problem.message


def test_images_of_gnocchi_may_be_named_in_its_values() -> None:
    tags = brought("metering")["images"]["overrides"]
    assert region("metering", **values("metering", "gnocchi", {"images": {"tags": tags}})).bundles


def test_without_gnocchi_nothing_is_missing() -> None:
    assert region("metering", features={"metering": {"gnocchi": {"enabled": False}}}).release("ceilometer")


def test_ceilometer_has_the_account_of_each_service_that_reports_to_it() -> None:
    endpoints = metering("ceilometer")["endpoints"]
    found = {name.removeprefix("oslo_messaging_") for name in endpoints if name.startswith("oslo_messaging_")}
    assert found == {"keystone", "glance", "neutron", "nova", "cinder", "heat"}
    assert endpoints["oslo_messaging_nova"]["auth"]["nova"] == {
        "username": {
            "$secretRef": {"name": "compute-credentials", "key": "account-suffix", "prefix": "nova"}
        },
        "password": {"$secretRef": {"name": "compute-credentials", "key": "messaging-password"}},
    }


def test_a_broker_of_ones_own_is_where_notifications_are_read() -> None:
    dedicated = metering("ceilometer", messaging={"dedicatedBrokers": ["compute"]})["endpoints"]
    assert dedicated["oslo_messaging_nova"]["hosts"] == {"default": "rabbitmq-compute"}
    assert dedicated["oslo_messaging_nova"]["statefulset"]["name"] == "rabbitmq-compute-rabbitmq"
    assert dedicated["oslo_messaging_glance"]["hosts"] == {"default": "rabbitmq"}


def test_a_broker_outside_has_no_names_of_pods() -> None:
    external = FEATURES["external-servers"]["features"]
    merged = metering("ceilometer", **external)["endpoints"]
    assert merged["oslo_messaging_nova"].get("statefulset") is None
    assert merged["oslo_messaging_nova"]["hosts"] == {"default": "rabbitmq"}


def test_services_report_what_happens_once_metering_runs() -> None:
    assert metering("nova")["conf"]["nova"]["oslo_messaging_notifications"] == {
        "driver": "messagingv2",
        "topics": "notifications",
    }


def test_ceilometer_takes_no_message_that_others_wait_for() -> None:
    messaging = {"notifications": {"enabled": True, "topics": ["notifications", "billing"]}}
    assert (
        metering("nova", messaging=messaging)["conf"]["nova"]["oslo_messaging_notifications"]["topics"]
        == "notifications,billing"
    )
    conf = metering("ceilometer", messaging=messaging)["conf"]["ceilometer"]
    assert conf["oslo_messaging_notifications"]["topics"] == "notifications"


def test_a_region_that_measures_has_to_have_the_topic_that_is_read() -> None:
    messaging = {"notifications": {"enabled": True, "topics": ["billing"]}}
    [problem] = refused("metering", features={"messaging": messaging}, **brought("metering"))
    assert problem.path == "spec.features.messaging.notifications.topics"


def test_a_region_that_measures_already_without_that_topic_goes_on() -> None:
    topics = {"notifications": {"topics": ["billing"]}}
    features = {"services": {"enabled": ["metering"]}, "messaging": topics}
    there = render(core_spec(preset="compute", features=features, **brought("metering")), partial=True)
    assert [part.release for part in there.lacking] == ["ceilometer"]


def test_alarms_listen_where_ceilometer_publishes() -> None:
    assert metering("aodh")["endpoints"]["oslo_messaging"]["path"] == "/ceilometer"
    [sink] = metering("ceilometer")["conf"]["event_pipeline"]["sinks"]
    assert sink["publishers"] == ["notifier://?topic=alarm.all", "gnocchi://"]
