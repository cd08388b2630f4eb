"""Reading an OpenStackDeployment: what is accepted, and what each mistake is answered with."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.domain.region.deployment import OpenStackDeployment, parse_deployment
from controller.domain.releases.bundle_object import parse_bundle
from controller.errors import SpecInvalid
from tests.api.definitions import CRDS, REGION, SCHEMAS, features, osdpl

SCHEMA = SCHEMAS["OpenStackDeployment"]
EXAMPLES = sorted((CRDS.parents[1] / "examples").glob("*.yaml"))


def _parse(**spec: Any) -> OpenStackDeployment:
    return parse_deployment(osdpl(**spec), SCHEMA)


def _problems(obj: Any) -> dict[str, str]:
    """Path → message and remedy of every problem."""
    with pytest.raises(SpecInvalid) as caught:
        parse_deployment(obj, SCHEMA)
    return {problem.path: f"{problem.message}; {problem.remedy}" for problem in caught.value.problems}


def test_four_fields_are_enough() -> None:
    spec = _parse().spec
    assert (spec.openstack_version, spec.preset, spec.size) == ("2026.1", "core", "single")
    assert (spec.region, spec.internal_domain_name, spec.storage_class) == ("RegionOne", "cluster.local", "")
    assert (spec.mode, spec.drift, spec.volumes) == ("Apply", "Correct", "Retain")


@pytest.mark.parametrize("missing", sorted(REGION))
def test_each_of_the_four_is_required(missing: str) -> None:
    obj = osdpl()
    del obj["spec"][missing]
    assert _problems(obj)[f"spec.{missing}"].startswith("required, and not set; ")


def test_who_it_is_comes_with_it() -> None:
    obj = osdpl()
    obj["metadata"].update(uid="u1", generation=7)
    meta = parse_deployment(obj, SCHEMA)
    assert (meta.name, meta.namespace, meta.uid, meta.generation) == ("region-one", "openstack", "u1", 7)
    assert not meta.deleting


def test_deletion_is_seen() -> None:
    obj = osdpl()
    obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert parse_deployment(obj, SCHEMA).deleting


def test_a_quoted_version_is_asked_for_when_yaml_made_a_number_of_it() -> None:
    assert _problems(osdpl(openstackVersion=2025.1)) == {
        "spec.openstackVersion": 'expected a string, got the number 2025.1; put it in quotes: "2025.1"'
    }


def test_a_yaml_no_as_a_version_is_reported_as_the_boolean_that_it_is() -> None:
    reported = _problems(osdpl(openstackVersion=False))["spec.openstackVersion"]
    assert reported.startswith("expected a string, got the boolean false; put it in quotes")


def test_the_nearest_known_field_is_suggested() -> None:
    reported = _problems(features(networking={"tunnel_interface": "bond0"}))
    assert reported == {
        "spec.features.networking.tunnel_interface": (
            'unknown field "tunnel_interface"; did you mean "tunnelInterface"?'
        )
    }


def test_a_field_that_resembles_nothing_is_answered_with_what_is_known() -> None:
    reported = _problems(osdpl(proxy={"zzz": 1}))["spec.proxy.zzz"]
    assert reported == 'unknown field "zzz"; known here: http, https, noProxy'


def test_the_nearest_choice_is_suggested() -> None:
    reported = _problems(features(networking={"backend": "ml2-ovn"}))["spec.features.networking.backend"]
    assert reported == 'must be one of ml2/ovs, ml2/ovn, got "ml2-ovn"; did you mean "ml2/ovn"?'


def test_every_problem_is_reported_at_once() -> None:
    reported = _problems(osdpl(preset="x", size=3, mode=None, featrues={}, nodes=[]))
    assert sorted(reported) == ["spec.featrues", "spec.nodes", "spec.preset", "spec.size"]


def test_a_hundred_problems_are_enough() -> None:
    assert len(_problems(osdpl(**{f"x{number}": 1 for number in range(1000)}))) == 100


def test_list_items_are_reported_by_their_place() -> None:
    networks = [{"name": "a", "bridge": "br-a"}, {"name": "b"}]
    assert list(_problems(features(networking={"externalNetworks": networks}))) == [
        "spec.features.networking.externalNetworks[1].bridge"
    ]


def test_two_items_of_one_name_are_refused() -> None:
    networks = [{"name": "a", "bridge": "br-a"}, {"name": "a", "bridge": "br-b"}]
    assert _problems(features(networking={"externalNetworks": networks})) == {
        "spec.features.networking.externalNetworks[1]": "is already in the list; "
    }


def test_what_stands_in_the_wrong_place_is_not_quoted() -> None:
    # It may be a password.
    provider = {
        "name": "a",
        "issuer": "https://a",
        "clientID": "x",
        "clientSecret": "hunter2",
        "mapping": [{}],
    }
    for obj in (
        features(identity={"federation": {"providers": [provider]}}),
        osdpl(proxy={"http": "http://user:hunter2@proxy"}),
        osdpl(charts={"repository": "hunter2"}),
        osdpl(services="hunter2"),
        osdpl(services={"identity": ["hunter2"]}),
    ):
        assert "hunter2" not in str(_problems(obj))


def test_a_null_is_as_good_as_nothing() -> None:
    spec = _parse(mode=None, features=None, storageClass=None, services={"identity": None}).spec
    assert (spec.mode, spec.storage_class) == ("Apply", "")


def test_a_null_for_what_is_required_is_reported_as_missing() -> None:
    assert _problems(osdpl(size=None))["spec.size"].startswith("required, and not set")


def test_a_null_in_a_list_is_refused() -> None:
    assert _problems(features(networking={"dnsServers": [None]})) == {
        "spec.features.networking.dnsServers[0]": "expected a string, got nothing (null); "
    }


@pytest.mark.parametrize("spec", [None, [], "x", 1, True])
def test_a_spec_that_is_no_map_is_refused(spec: Any) -> None:
    assert "spec" in _problems({**osdpl(), "spec": spec})


def test_a_missing_spec_is_refused() -> None:
    obj = osdpl()
    del obj["spec"]
    assert _problems(obj)["spec"].startswith("required")


@pytest.mark.parametrize("obj", [None, [], "x", 7, {}, {"metadata": None}, {"metadata": {"name": 3}}])
def test_what_is_no_kubernetes_object_is_refused_with_a_path(obj: Any) -> None:
    assert _problems(obj)


def test_another_kind_is_refused() -> None:
    assert _problems({**osdpl(), "kind": "Deployment"}) == {"kind": "expected OpenStackDeployment; "}


def test_unknown_keys_beside_spec_are_refused() -> None:
    assert 'did you mean "spec"?' in _problems({**osdpl(), "spce": {}})["spce"]


def test_a_spec_too_large_for_kubernetes_is_refused_with_its_size_and_where_it_comes_from() -> None:
    values = {"identity": {"keystone": {"values": {"extra": "x" * 1_200_000}}}}
    reported = _problems(osdpl(services=values))
    assert list(reported) == ["spec"]
    assert "is 1,200," in reported["spec"]
    assert "most of it is in spec.services" in reported["spec"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, b"x", object()])
def test_what_json_cannot_hold_is_refused(value: Any) -> None:
    assert "spec" in _problems(osdpl(services={"identity": {"keystone": {"values": {"a": value}}}}))


def test_a_spec_nested_without_end_is_refused() -> None:
    endless: dict[str, Any] = {}
    endless["again"] = endless
    reported = _problems(osdpl(services={"identity": {"keystone": {"values": endless}}}))
    assert reported == {"spec": "is nested more than 100 levels deep; write flatter values"}


def test_a_spec_nested_far_deeper_than_any_values_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(20_000):
        deep = [deep]
    reported = _problems(osdpl(services={"identity": {"keystone": {"values": {"a": deep}}}}))
    assert reported == {"spec": "is nested more than 100 levels deep; write flatter values"}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_are_accepted(example: Path) -> None:
    obj = yaml.safe_load(example.read_text(encoding="utf-8"))
    read = parse_bundle(obj) if obj["kind"] == "HelmBundle" else parse_deployment(obj, SCHEMA)
    assert read.name


def test_the_input_is_not_changed_and_shares_nothing_with_the_result() -> None:
    obj = osdpl(
        services={"identity": {"keystone": {"values": {"a": {"b": [1]}}}}},
        features={"blockStorage": {"backends": [{"name": "a", "type": "custom", "conf": {"x": [1]}}]}},
    )
    before = copy.deepcopy(obj)
    parsed = parse_deployment(obj, SCHEMA)
    assert obj == before
    obj["spec"]["services"]["identity"]["keystone"]["values"]["a"]["b"].append(2)
    obj["spec"]["features"]["blockStorage"]["backends"][0]["conf"]["x"].append(2)
    assert parsed.spec.features.tree["blockStorage"]["backends"][0]["conf"] == {"x": [1]}
    assert parsed.document["services"] == before["spec"]["services"]


def test_nulls_and_marks_in_values_are_kept() -> None:
    values = {"a": None, "b": {"$patch": "delete"}, "c": {"$secretRef": {"name": "s", "key": "k"}}}
    services = {"identity": {"keystone": {"values": values}}}
    assert _parse(services=services).document["services"] == services


def test_features_have_every_field_whether_it_is_set_or_not() -> None:
    given = _parse().spec.features.tree
    assert given["networking"]["backend"] == "ml2/ovs"
    assert given["networking"]["tunnelInterface"] is None
    assert given["networking"]["externalNetworks"] == []
    assert given["networking"]["floatingNetwork"]["subnet"] is None
    assert given["dashboard"]["settings"] == {}
    assert given["credentials"] == {}


def test_items_of_lists_in_features_are_filled_too() -> None:
    given = _parse(features={"blockStorage": {"backends": [{"name": "rbd1", "type": "ceph", "ceph": {}}]}})
    [backend] = given.spec.features.tree["blockStorage"]["backends"]
    assert (backend["ceph"]["pool"], backend["nfs"], backend["conf"]) == ("volumes", None, {})


def test_the_document_is_what_the_server_stores_and_no_more() -> None:
    assert _parse(features={"compute": {}}).document == {
        **REGION,
        "region": "RegionOne",
        "internalDomainName": "cluster.local",
        "mode": "Apply",
        "drift": "Correct",
        "volumes": "Retain",
        "charts": {},
        "images": {"pullPolicy": "IfNotPresent"},
        "proxy": {},
        "common": {},
        "features": {"compute": {}},
        "upgrade": {
            "gates": "Health",
            "healthyFor": "30s",
            "paused": False,
            "computes": {"batch": "10%", "maxFailed": 0},
            "prepull": False,
        },
    }


def test_features_are_plain_json() -> None:
    given = _parse().spec.features.tree
    assert json.loads(json.dumps(given)) == given


FLAT = {"name": "dc", "bridge": "br-dc"}
WITH_VLANS = {**FLAT, "vlanRanges": ["100:199"]}
FLOATING = {"enabled": True, "physicalNetwork": "dc", "subnet": {"range": "203.0.113.0/24"}}
TAGGED = {"networkType": "vlan", "segmentationID": 99}
BARE = {"name": "p", "purpose": "cleaning", "physicalNetwork": "dc", "range": "10.0.0.0/24"}


@pytest.mark.parametrize(
    ("given", "path", "message"),
    [
        (
            {"networking": {"externalNetworks": [{"name": "a", "bridge": "b", "vlanRanges": ["20:10"]}]}},
            "networking.externalNetworks[0].vlanRanges[0]",
            "must be two VLANs from 1 to 4094",
        ),
        (
            {"networking": {"floatingNetwork": {"subnet": {"range": "10.0.0.0/24", "gateway": "10.0.1.1"}}}},
            "networking.floatingNetwork.subnet.gateway",
            "is not an address in 10.0.0.0/24",
        ),
        (
            {
                "networking": {
                    "floatingNetwork": {
                        "subnet": {"range": "10.0.0.0/24", "poolStart": "10.0.0.9", "poolEnd": "10.0.0.8"}
                    }
                }
            },
            "networking.floatingNetwork.subnet.poolEnd",
            "comes before poolStart",
        ),
        (
            {"networking": {"floatingNetwork": {"networkType": "vlan"}}},
            "networking.floatingNetwork.segmentationID",
            "required, and not set",
        ),
        (
            {"networking": {"floatingNetwork": {"segmentationID": 5}}},
            "networking.floatingNetwork.segmentationID",
            "needs networkType vlan",
        ),
        (
            {"loadBalancer": {"provider": "ovn"}},
            "loadBalancer.provider",
            "ovn needs networking backend ml2/ovn",
        ),
        (
            {"baremetal": {"networks": [{"name": "p", "physicalNetwork": "x", "range": "10.0.0.0/24"}]}},
            "baremetal.networks[0].physicalNetwork",
            "must be the name of one of spec.features.networking.externalNetworks",
        ),
        (
            {"blockStorage": {"backup": {"driver": "ceph", "share": "nas:/x"}}},
            "blockStorage.backup.share",
            "needs driver nfs",
        ),
        (
            {"networking": {"externalNetworks": [FLAT], "floatingNetwork": {**FLOATING, **TAGGED}}},
            "networking.floatingNetwork.networkType",
            'network "dc" has no VLANs; set spec.features.networking.externalNetworks[0].vlanRanges',
        ),
        (
            {"networking": {"externalNetworks": [WITH_VLANS], "floatingNetwork": FLOATING}},
            "networking.floatingNetwork.networkType",
            'network "dc" has VLANs, so it cannot be flat',
        ),
        (
            {"networking": {"externalNetworks": [FLAT], "tenantNetworkTypes": ["vxlan", "vlan"]}},
            "networking.tenantNetworkTypes[1]",
            "networkType vlan needs an external network with VLANs",
        ),
        (
            {"networking": {"externalNetworks": [FLAT]}, "baremetal": {"networks": [{**BARE, "vlan": 200}]}},
            "baremetal.networks[0].vlan",
            'network "dc" has no VLANs',
        ),
        (
            {"networking": {"externalNetworks": [WITH_VLANS]}, "baremetal": {"networks": [BARE]}},
            "baremetal.networks[0].vlan",
            'network "dc" has VLANs, so it cannot be flat',
        ),
        (
            {"image": {"backends": [{"name": name, "type": "pvc"} for name in ("one", "two")]}},
            "image.backends[1].type",
            "the glance chart claims only one volume",
        ),
        *(
            (
                {"identity": {"ldap": {"domains": [{"name": name, "url": "ldaps://l", "suffix": "dc=x"}]}}},
                "identity.ldap.domains[0].name",
                f'domain "{name.lower()}" contains Keystone\'s own accounts',
            )
            for name in ("Default", "service", "HEAT")
        ),
        (
            {"database": {"backup": {"enabled": True, "schedule": "61 * * * *"}}},
            "database.backup.schedule",
            "minute 61 is not between 0 and 59",
        ),
        (
            {"database": {"cleanup": {"compute": {"schedule": "1 0 * * 8"}}}},
            "database.cleanup.compute.schedule",
            "day of the week 8 is not between 0 and 6",
        ),
        *(
            (
                {"tls": {place: {"enabled": True, field: name, **more}}},
                f"tls.{place}.{field}",
                f'Secret "{name}" is {what}',
            )
            for place, field, name, what, more in (
                ("internal", "authoritySecret", "osctl-authority", "the key of an authority", {}),
                ("internal", "caSecret", "osctl-digest-key", "the controller's own key", {"issuer": "one"}),
                ("public", "secretName", "sh.helm.release.v1.nova.v1", "a Helm record", {}),
            )
        ),
        (
            {"loadBalancer": {"certificatesSecret": "octavia-server-authority"}},
            "loadBalancer.certificatesSecret",
            'Secret "octavia-server-authority" is the key of an authority',
        ),
        *(
            (
                {"credentialRotation": {"every": "90d", "window": {"start": "02:00", "duration": length}}},
                "credentialRotation.window.duration",
                wrong,
            )
            for length, wrong in (
                ("9m59s", "is 9m59s, but must be from 10m to 24h"),
                ("25h", "is 25h, but must be from 10m to 24h"),
            )
        ),
        (
            {"policies": {"compute": {"$patch": "delete"}}},
            "policies.compute.$patch",
            "$patch is only possible in values",
        ),
        (
            {"blockStorage": {"backends": [{"name": "a", "type": "custom", "conf": {"$patch": "delete"}}]}},
            "blockStorage.backends[0].conf.$patch",
            "$patch is only possible in values",
        ),
    ],
)
def test_features_that_do_not_fit_together_are_refused(given: Any, path: str, message: str) -> None:
    reported = _problems(osdpl(features=given))
    assert list(reported) == [f"spec.features.{path}"]
    assert reported[f"spec.features.{path}"].startswith(message)


@pytest.mark.parametrize(
    "given",
    [
        {"externalNetworks": [WITH_VLANS], "floatingNetwork": {**FLOATING, **TAGGED}},
        {"externalNetworks": [FLAT], "floatingNetwork": FLOATING},
        {"externalNetworks": [FLAT, {**WITH_VLANS, "name": "v"}], "tenantNetworkTypes": ["vlan"]},
    ],
)
def test_networks_of_their_own_type_are_accepted(given: Any) -> None:
    assert _parse(features={"networking": given}).spec.features.tree["networking"]["externalNetworks"]


@pytest.mark.parametrize("text", ["cloud.example.org\n", "Cloud.example.org", "-a.org", "a..b", "", "é.org"])
def test_a_domain_that_is_none_is_refused(text: str) -> None:
    assert "spec.publicDomainName" in _problems(osdpl(publicDomainName=text))


def test_a_key_that_could_disturb_a_terminal_is_shown_harmless() -> None:
    [(path, reported)] = _problems(osdpl(proxy={"a\x1b[31m\nb" + "c" * 500: 1})).items()
    assert "\x1b" not in path + reported
    assert "\n" not in path + reported
    assert len(path) < 120
