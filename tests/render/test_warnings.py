"""What is allowed and probably not meant."""

from __future__ import annotations

from typing import Any

import pytest

from controller.cli.views.diff import diff_regions
from controller.errors import Problem, SpecInvalid
from tests.render.region import core_spec, render
from tests.render.specs import FEATURES, LDAP


def warnings(**more: Any) -> tuple[Problem, ...]:
    return render(core_spec(**more), source="region.yaml").warnings


def values(chart: str, content: dict[str, Any]) -> dict[str, Any]:
    return {"services": {"compute": {chart: {"values": content}}}}


def test_a_key_that_the_chart_nearly_has_is_warned_about() -> None:
    [warning] = warnings(**values("nova", {"pod": {"replcas": {"osapi": 2}}}))
    assert warning.path == "spec.services.compute.nova.values.pod.replcas"
    assert warning.message == 'chart nova has no "replcas" here'
    assert 'did you mean "replicas"?' in warning.remedy


@pytest.mark.parametrize(
    ("content", "meant"),
    [
        ({"conf": {"nova.conf": {"DEFAULT": {"debug": True}}}}, "nova"),
        ({"conf": {"nova": {"default": {"debug": True}}}}, "DEFAULT"),
        ({"conf": {"nova": {"defaults": {"debug": True}}}}, "DEFAULT"),
    ],
)
def test_a_file_with_its_ending_and_a_section_in_small_letters_are_warned_about(
    content: dict[str, Any], meant: str
) -> None:
    [warning] = warnings(**values("nova", content))
    assert f'did you mean "{meant}"?' in warning.remedy


def test_an_option_that_is_new_to_the_chart_is_not_warned_about() -> None:
    assert warnings(**values("nova", {"conf": {"nova": {"DEFAULT": {"reserved_host_memory_mb": 512}}}})) == ()


def test_names_that_differ_in_digits_are_different_things() -> None:
    assert warnings(**values("nova", {"endpoints": {"oslo_db_cell2": {"path": "/nova_cell2"}}})) == ()


def test_the_same_slip_in_two_charts_is_said_for_each() -> None:
    found = warnings(common={"charts": {"values": {"endpoint": {}}}})
    assert len(found) == len(set(found)) == 10


def test_a_proxy_is_said_to_reach_no_chart() -> None:
    assert [w.path for w in warnings(proxy={"http": "http://proxy.example.org:3128"})] == ["spec.proxy"]


def test_a_plain_region_has_nothing_to_warn_about() -> None:
    assert warnings() == ()


def test_a_label_that_comes_is_reported_to_rename_a_daemonset() -> None:
    labelled = FEATURES["nodes"]
    [nova] = [
        one
        for one in diff_regions(render(core_spec()), render(core_spec(**labelled))).releases
        if one.renames
    ]
    assert (nova.release, nova.renames) == ("nova", ("nova-compute",))


@pytest.mark.slow
def test_block_storage_without_a_store_is_reported() -> None:
    [warning] = [one for one in warnings(preset="compute") if "blockStorage" in one.path]
    assert warning.path == "spec.features.blockStorage.backends"
    assert "no volume can be created" in warning.message
    stores = {"blockStorage": {"backends": [{"name": "disk", "type": "lvm"}]}}
    assert warning not in warnings(preset="compute", features=stores)


OIDC_REGION = FEATURES["identity-oidc"]


def on_https(region: dict[str, Any]) -> dict[str, Any]:
    return {**region, "features": {**region["features"], "tls": {"public": {"enabled": True}}}}


def told(path: str, **spec: Any) -> list[str]:
    found = render(core_spec(preset="compute", **spec)).warnings
    return [f"{warning.message}; {warning.remedy}" for warning in found if warning.path.startswith(path)]


def store(kind: str, **more: Any) -> dict[str, Any]:
    backend = {"name": "vendor", "type": kind, **more}
    return {"blockStorage": {"backends": [backend]}}


VENDOR = {
    "volume_driver": "cinder.volume.drivers.pure.PureISCSIDriver",
    "san_ip": "192.0.2.60",
    "pure_api_token": {"$secretRef": {"name": "pure", "key": "token"}},
}
STORE = "spec.features.blockStorage.backends[0]"


@pytest.mark.slow
@pytest.mark.parametrize("chart", ["cinder", "nova"])
def test_who_keeps_the_devices_of_the_host_from_a_store_that_needs_them_is_reported(chart: str) -> None:
    service = {"cinder": "block-storage", "nova": "compute"}[chart]
    off = {service: {chart: {"values": {"conf": {"enable_iscsi": False}}}}}
    features = store("custom", conf=VENDOR)
    assert told(STORE, features=features) == []
    [text] = told(STORE, features=features, services=off)
    assert f"pods of {chart} cannot see" in text and "remove conf.enable_iscsi" in text


@pytest.mark.slow
def test_an_iscsiadm_without_the_network_of_its_node_is_reported() -> None:
    values: dict[str, Any] = {"conf": {"enable_iscsi": True}}
    services = {"block-storage": {"cinder": {"values": values}}}
    path = "spec.services.block-storage.cinder.values.conf.enable_iscsi"
    [text] = told(path, services=services)
    assert "iscsid" in text and "pod.useHostNetwork.volume" in text
    values["pod"] = {"useHostNetwork": {"volume": True}}
    assert told(path, services=services) == []


@pytest.mark.slow
def test_pods_of_cinder_volume_that_have_one_name_are_reported() -> None:
    services = {"block-storage": {"cinder": {"values": {"pod": {"replicas": {"volume": 2}}}}}}
    path = "spec.services.block-storage.cinder.values.pod.replicas.volume"
    [text] = told(path, features=store("lvm"), services=services)
    assert "2 pods of cinder-volume share the name cinder-volume-0" in text
    assert told(path, features=store("ceph"), services=services) == []


@pytest.mark.slow
def test_nvme_needs_what_the_stock_images_lack() -> None:
    [text] = told(STORE, features=store("lvm", lvm={"protocol": "nvmet_tcp"}))
    assert "nvme-cli" in text and "cinder_volume" in text and "nova_compute" in text
    assert told(STORE, features=store("lvm")) == []


@pytest.mark.slow
def test_a_store_of_another_driver_needs_none() -> None:
    quobyte = {"volume_driver": "cinder.volume.drivers.quobyte.QuobyteDriver", "quobyte_volume_url": "a"}
    features = store("custom", conf=quobyte)
    assert told(STORE, features=features) == []


@pytest.mark.parametrize("given", [store("lvm"), store("custom", conf=VENDOR)], ids=["lvm", "vendor"])
def test_a_store_whose_volumes_are_devices_brings_those_of_the_host_to_servers_as_well(
    given: dict[str, Any],
) -> None:
    region = render(core_spec(preset="compute", features=given))
    for name in ("cinder", "nova"):
        release = region.release(name)
        assert release is not None and release.merged.values["conf"]["enable_iscsi"] is True
    plain = render(core_spec(preset="compute")).release("nova")
    assert plain is not None and "enable_iscsi" not in plain.spec.values["conf"]


@pytest.mark.slow
def test_a_package_that_the_stock_image_lacks_is_reported() -> None:
    [text] = told("spec.features.identity.federation.providers", **on_https(OIDC_REGION))
    assert "mod_auth_openidc" in text and "keystone_api" in text
    shares = store("nfs", nfs={"shares": ["10.0.0.1:/volumes"]})
    [text] = told(STORE, features=shares)
    assert "nfs-common" in text and "cinder_volume" in text and "nova_compute" in text


@pytest.mark.slow
def test_an_image_of_ones_own_is_not_suspected() -> None:
    own = {"overrides": {"keystone_api": "registry.example.org/keystone:1"}}
    assert told("spec.features.identity.federation.providers", images=own, **on_https(OIDC_REGION)) == []


@pytest.mark.slow
def test_a_copy_in_a_registry_lacks_the_same_package() -> None:
    mirror = {"registry": "registry.example.org/openstack"}
    [text] = told("spec.features.identity.federation.providers", images=mirror, **on_https(OIDC_REGION))
    assert "mod_auth_openidc" in text
    [text] = told(STORE, images=mirror, features=store("nfs", nfs={"shares": ["10.0.0.1:/volumes"]}))
    assert "nfs-common" in text


@pytest.mark.slow
def test_a_provider_sends_no_browser_back_to_plain_http() -> None:
    own = {"overrides": {"keystone_api": "registry.example.org/keystone:1"}}
    [text] = told("spec.features.identity.federation.providers", images=own, **OIDC_REGION)
    assert "published on http" in text and "spec.features.tls.public.enabled" in text


# As few directories follow Keystone's defaults.
NAMED = {"user_name_attribute": "uid", "group_name_attribute": "cn"}


def directory(url: str, **conf: Any) -> dict[str, Any]:
    return {"identity": {"ldap": {"domains": [{**LDAP, "url": url, "conf": {**NAMED, **conf}}]}}}


@pytest.mark.slow
def test_passwords_that_go_to_a_directory_in_the_clear_are_reported() -> None:
    path = "spec.features.identity.ldap.domains"
    [text] = told(path, features=directory("ldap://ldap.example.org"))
    assert "of staff go to the directory in plain text" in text and "ldaps" in text
    assert told(path, features=directory("ldap://ldap.example.org", use_tls=True)) == []
    assert told(path, features=directory("ldaps://ldap.example.org")) == []


def test_a_directory_has_one_way_of_encryption() -> None:
    with pytest.raises(SpecInvalid, match="leave use_tls out"):
        told("spec", features=directory("ldaps://ldap.example.org", use_tls="True"))


@pytest.mark.parametrize(
    ("features", "path", "told"),
    [
        (
            {"networking": {"backend": "ml2/ovn"}},
            "networkPolicies.enabled",
            "databases of OVN speak in clear",
        ),
        (
            {"compute": {"console": {"type": "spice"}}},
            "compute.console.type",
            "SPICE consoles are not encrypted",
        ),
        (
            {"compute": {"libvirtTLS": {"enabled": False}}},
            "compute.libvirtTLS.enabled",
            "ask for no password on any address",
        ),
    ],
)
def test_an_open_door_on_the_network_of_the_nodes_is_warned_about(
    features: dict[str, Any], path: str, told: str
) -> None:
    [warning] = [one for one in warnings(features=features) if one.path == f"spec.features.{path}"]
    assert told in warning.message


@pytest.mark.slow
def test_policies_in_front_of_the_databases_of_ovn_end_their_warning() -> None:
    policies = {"enabled": True, "nodeNetworks": ["10.0.0.0/16"]}
    features = {"networking": {"backend": "ml2/ovn"}, "networkPolicies": policies}
    assert warnings(features=features) == ()


@pytest.mark.slow
def test_what_lets_readers_write_is_reported_until_it_asks_for_a_role() -> None:
    features = {
        "readOnlyAccount": {"enabled": True},
        "services": {"enabled": ["metering"]},
        "metering": {"gnocchi": {"enabled": False}},
    }
    path = "spec.features.readOnlyAccount.enabled"
    found = told(path, features=features)
    assert [text.partition(" ")[0] for text in found] == ["cinder", "aodh"]
    assert told(path, features={**features, "readOnlyAccount": {}}) == []

    def enforced(chart: str) -> dict[str, Any]:
        conf = {chart: {"oslo_policy": {"enforce_new_defaults": True}}}
        return {chart: {"values": {"conf": conf}}}

    services = {"block-storage": enforced("cinder"), "metering": enforced("aodh")}
    assert told(path, features=features, services=services) == []


@pytest.mark.parametrize(
    ("rule", "known"),
    [
        ("rule:admin_or_biling", False),
        ("rule:admin_or_owner or role:billing", True),
        ("rule:own_rule", True),
    ],
)
def test_a_policy_that_asks_a_rule_that_there_is_not_is_reported(rule: str, known: bool) -> None:
    written = {"os_compute_api:servers:index": rule, "own_rule": "role:billing", "any": "rule:own_rule"}
    found = warnings(features={"policies": {"compute": written}})
    told_at = [one.path for one in found if one.rule == "policy-reference-unknown"]
    path = 'spec.features.policies.compute["os_compute_api:servers:index"]'
    assert told_at == ([] if known else [path])


@pytest.mark.parametrize(("drivers", "bound"), [("openvswitch,l2population", True), (["ovn"], False)])
def test_a_neutron_without_the_driver_of_its_backend_is_reported(drivers: Any, bound: bool) -> None:
    plugin = {"conf": {"plugins": {"ml2_conf": {"ml2": {"mechanism_drivers": drivers}}}}}
    found = warnings(services={"networking": {"neutron": {"values": plugin}}})
    assert [one.rule == "networking/driver-of-the-backend-missing" for one in found].count(True) == (
        not bound
    )


@pytest.mark.parametrize(("drivers", "known"), [("ovn: OVN", False), ("amphora: A, ovn: OVN", True)])
def test_a_default_provider_of_load_balancers_that_is_not_enabled_is_reported(
    drivers: str, known: bool
) -> None:
    values = {"conf": {"octavia": {"api_settings": {"enabled_provider_drivers": drivers}}}}
    body = FEATURES["load-balancer-made-network"]
    found = warnings(**{**body, "services": {"load-balancer": {"octavia": {"values": values}}}})
    told_at = [one.path for one in found if one.rule == "load-balancer/default-driver-unknown"]
    assert bool(told_at) == (not known)
