"""The definitions on a real API server: what it stores, keeps, refuses and shows."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from controller.domain.region.deployment import parse_deployment
from sandbox.cluster import Sandbox
from sandbox.errors import SandboxError
from tests.api.conftest import Api
from tests.api.definitions import CRDS, SCHEMAS, bundle, evacuation, osdpl, server

pytestmark = pytest.mark.cluster
EXAMPLES = sorted((CRDS.parents[1] / "examples").glob("*.yaml"))
SEEDED = {
    "Ready", "SpecValid", "ReleasesReady", "WorkloadsHealthy", "SecretsExchanged", "NodesReady", "Planned",
    "Paused", "Deleting",
}  # fmt: skip


def _conditions(stored: Any) -> dict[str, str]:
    return {entry["type"]: entry["status"] for entry in stored["status"]["conditions"]}


def _created(api: Api, obj: dict[str, Any]) -> dict[str, Any]:
    verdict = api.create(obj, dry_run=False)
    assert verdict.accepted, verdict.message
    return dict(verdict.stored)


def _condition(type_: str, status: str = "True") -> dict[str, str]:
    return {"type": type_, "status": status, "reason": "Tested", "lastTransitionTime": "2026-01-01T00:00:00Z"}


def _status(obj: dict[str, Any], **status: Any) -> dict[str, Any]:
    metadata = {"name": obj["metadata"]["name"]}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata, "status": status}


def test_a_new_region_has_every_condition_and_default(api: Api) -> None:
    stored = _created(api, osdpl(features={"networking": {}}))
    assert _conditions(stored) == dict.fromkeys(SEEDED, "Unknown")
    assert stored["spec"]["features"]["networking"]["backend"] == "ml2/ovs"
    assert stored["spec"]["volumes"] == "Retain"


def test_a_new_bundle_has_its_condition_and_defaults(api: Api) -> None:
    stored = _created(api, bundle())
    assert _conditions(stored) == {"Ready": "Unknown", "Paused": "Unknown"}
    assert stored["spec"]["releases"][0]["timeout"] == "30m"


@pytest.fixture
def plan(served: Sandbox, api: Api) -> Iterator[dict[str, Any]]:
    """A maintenance that is only planned; it belongs to no namespace; its region is no one's here."""
    name = f"plan-{api.namespace}"
    yield {
        "apiVersion": "osctl.dev/v1alpha1",
        "kind": "ComputeMaintenance",
        "metadata": {"name": name},
        "spec": {
            "region": {"namespace": api.namespace, "name": "one"},
            "nodeName": "cmp1",
            "dryRun": True,
        },
    }
    # A region of another test may have taken it up.
    served.kubectl("delete", "cmaint", name, "--wait=false", "--ignore-not-found")
    if served.kubectl("get", "cmaint", name, "-o", "name", "--ignore-not-found"):
        with contextlib.suppress(SandboxError):  # gone meanwhile
            served.kubectl("patch", "cmaint", name, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')


def test_a_plan_of_a_maintenance_may_begin_and_one_that_began_is_no_plan_again(
    api: Api, plan: dict[str, Any]
) -> None:
    _created(api, plan)
    assert api.patch(plan, {"spec": {"dryRun": True, "retries": 1}}).accepted
    assert api.patch(plan, {"spec": {"dryRun": None}}).accepted
    refused = api.patch(plan, {"spec": {"dryRun": True}})
    assert refused.status == 422 and "cannot become a dry run" in refused.message
    assert api.patch(plan, {"spec": {"retries": 2}}).accepted


def test_a_maintenance_names_its_region_and_stays_with_it(api: Api, plan: dict[str, Any]) -> None:
    spec = {key: part for key, part in plan["spec"].items() if key != "region"}
    refused = api.create({**plan, "spec": spec})
    assert refused.status == 422 and "spec.region: Required value" in refused.message
    region = plan["spec"]["region"]
    refused = api.create({**plan, "spec": {**spec, "region": {"namespace": region["namespace"]}}})
    assert refused.status == 422 and "spec.region.name: Required value" in refused.message
    stored = _created(api, plan)
    [ready] = stored["status"]["conditions"]
    assert (ready["status"], ready["message"]) == (
        "Unknown",
        "No controller of that region has observed this yet.",
    )
    for other in ({"name": "two"}, {"namespace": "elsewhere"}, None):
        refused = api.patch(plan, {"spec": {"region": other}})
        assert refused.status == 422, other
    assert api.patch(plan, {"spec": None}).status == 422


@pytest.mark.parametrize(
    ("spec", "change", "words"),
    [
        ({}, {"flavor": "large"}, "a field of a frozen server cannot be changed"),
        ({}, {"ports": [{"network": {"filter": {"name": "net1"}}}]}, "a field of a frozen server"),
        ({}, {"image": {"filter": {"name": "other"}}}, "a field of a frozen server"),
        ({}, {"tags": ["more"]}, "a field of a frozen server"),
        ({}, {"floatingIP": {"pool": "public"}}, "a field of a frozen server"),
        ({}, {"onExternalDeletion": "Recreate"}, "a field of a frozen server"),
        ({}, {"update": "Replace"}, "update cannot be changed"),
        ({"update": "Replace"}, {"update": "Frozen"}, "update cannot be changed"),
        (
            {"update": "Replace", "floatingIP": {"pool": "public"}},
            {"floatingIP": {"pool": "other"}},
            "a floating IP stays in its network",
        ),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else None,
)
def test_a_server_refuses_an_edit_that_cannot_be(
    api: Api, spec: dict[str, Any], change: dict[str, Any], words: str
) -> None:
    made = server(**spec)
    _created(api, made)
    refused = api.patch(made, {"spec": change})
    assert refused.status == 422 and words in refused.message


NAMED = {"filter": {"name": "other"}}
# A value of each field of a server, and another one.
CHANGES: dict[str, tuple[Any, Any]] = {
    "image": ({"filter": {"name": "tiny"}}, NAMED),
    "flavor": ("small", "large"),
    "ports": ([{"network": {"filter": {"name": "net0"}}}], [{"network": NAMED}]),
    "sshKeyName": ("one", "two"),
    "securityGroups": ([NAMED], []),
    "trunk": (True, False),
    "rootVolume": ({"sizeGiB": 1}, {"sizeGiB": 2}),
    "additionalBlockDevices": ([{"name": "a", "sizeGiB": 1, "storage": {"type": "Local"}}], []),
    "serverGroup": (NAMED, {"filter": {"name": "another"}}),
    "serverMetadata": ([{"key": "a", "value": "b"}], [{"key": "a", "value": "c"}]),
    "tags": (["a"], ["a", "b"]),
    "availabilityZone": ("nova", "other"),
    "userDataRef": ({"name": "one"}, {"name": "two"}),
    "floatingIP": ({"pool": "public"}, {"pool": "public", "reclaim": "Retain"}),
    "configDrive": (True, False),
    "schedulerHints": ({"a": "b"}, {"a": "c"}),
    "onExternalDeletion": ("Report", "Recreate"),
    "update": ("Frozen", "Replace"),
}


def test_no_field_of_a_frozen_server_can_be_changed_or_taken_away(api: Api) -> None:
    spec = dict(SCHEMAS["OpenStackServer"].root["properties"]["spec"]["properties"])
    assert {*CHANGES, "flavorID", "identityRef", "enabled"} == set(spec)
    frozen = server("frozen", **{field: value for field, (value, _) in CHANGES.items()})
    _created(api, frozen)
    by_id = server("by-id", flavor=None, flavorID="1")
    _created(api, by_id)
    edits = [(frozen, {field: other}) for field, (_, other) in CHANGES.items()]
    taken = [field for field in CHANGES if field not in ("onExternalDeletion", "update")]
    edits += [(frozen, {field: None}) for field in taken]
    edits += [(by_id, {"flavorID": "2"}), (by_id, {"flavorID": None, "flavor": "small"})]
    assert [edit for made, edit in edits if api.patch(made, {"spec": edit}).status != 422] == []
    bare = server("bare")
    _created(api, bare)
    edits = [(bare, {field: value}) for field, (value, _) in CHANGES.items() if field not in bare["spec"]]
    unchanged = [{"onExternalDeletion": "Report"}, {"update": "Frozen"}]
    accepted = [edit for made, edit in edits if api.patch(made, {"spec": edit}).accepted]
    assert accepted == unchanged


def test_a_server_may_always_be_disabled_and_given_other_credentials_and_a_bastion_edited(api: Api) -> None:
    frozen = server()
    stored = _created(api, frozen)
    assert set(_conditions(stored).values()) == {"Unknown"} and len(_conditions(stored)) == 9
    assert api.patch(frozen, {"spec": {"enabled": False}}).accepted
    assert api.patch(frozen, {"spec": {"identityRef": {"name": "other"}}}).accepted
    bastion = server("edited", update="Replace")
    _created(api, bastion)
    assert api.patch(bastion, {"spec": {"flavor": "large", "floatingIP": {"pool": "public"}}}).accepted


NET0 = {"filter": {"name": "net0"}}
BY_MODE = {"subnet": {"filter": {"ipv6AddressMode": "manual"}}}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"ports": []}, "spec.ports: Invalid value"),
        ({"ports": None}, "spec.ports: Required value"),
        ({"image": {"filter": {}}}, "should have at least 1 properties"),
        ({"image": {"filter": {"name": "a", "tags": ["a,b"]}}}, "should match"),
        ({"tags": ["a/b"]}, "should match"),
        ({"image": {"id": "not-a-uuid"}}, "should match"),
        ({"tags": ["a" * 61]}, "Too long"),
        ({"serverMetadata": [{"key": "a/b", "value": ""}]}, "should match"),
        ({"ports": [{"network": NET0, "fixedIPs": [BY_MODE]}]}, "Unsupported value"),
    ],
    ids=str,
)
def test_a_server_that_cannot_be_made_is_refused(api: Api, spec: dict[str, Any], words: str) -> None:
    refused = api.create(server(**spec))
    assert refused.status == 422 and words in refused.message


def test_a_bare_word_that_a_machine_is_off_is_refused(asked: Api) -> None:
    """By its type: no rule of ours is asked about that."""
    bare = evacuation()
    bare["spec"]["fenced"] = True
    refused = asked.create(bare)
    assert refused.status == 422 and "spec.fenced in body must be of type object" in refused.message


def test_what_the_server_stores_is_what_we_compute(api: Api) -> None:
    stored = _created(api, osdpl(features={"dashboard": {}}))
    assert parse_deployment(stored, SCHEMAS["OpenStackDeployment"]).document == stored["spec"]


def test_each_container_takes_its_own_condition_and_leaves_the_others(api: Api) -> None:
    obj = _created(api, osdpl())
    for manager, type_ in (
        ("osctl-core", "Ready"),
        ("osctl-helmbundle", "ReleasesReady"),
        ("osctl-node", "NodesReady"),
    ):
        for status in ("False", "True"):
            applied = _status(obj, conditions=[_condition(type_, status)])
            verdict = api.apply(applied, manager=manager, subresource="status")
            assert verdict.accepted, verdict.message
    assert _conditions(verdict.stored) == {
        **dict.fromkeys(SEEDED, "Unknown"), "Ready": "True", "ReleasesReady": "True", "NodesReady": "True",
    }  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"region": "RegionTwo"}},
        {"spec": {"region": None}},
        [{"op": "remove", "path": "/spec/region"}],
        [{"op": "replace", "path": "/spec", "value": osdpl(region="RegionTwo")["spec"]}],
    ],
)
def test_the_region_cannot_be_changed_or_taken_away(api: Api, change: Any) -> None:
    obj = _created(api, osdpl(region="RegionX"))
    verdict = api.patch(obj, change)
    assert verdict.status == 422
    assert "cannot be changed" in verdict.message


def test_the_rest_of_the_spec_can_be_changed(api: Api) -> None:
    obj = _created(api, osdpl())
    verdict = api.patch(
        obj, {"spec": {"openstackVersion": "2025.2", "size": "large", "publicDomainName": "b.org"}}
    )
    assert verdict.accepted, verdict.message


@pytest.mark.parametrize("change", [{"spec": None}, [{"op": "remove", "path": "/spec"}]])
def test_the_spec_cannot_be_taken_away(api: Api, change: Any) -> None:
    assert api.patch(_created(api, osdpl()), change).status == 422


@pytest.mark.parametrize(
    "change",
    [
        {"status": {"initialization": {"provisioned": False}}},
        {"status": {"initialization": None}},
        {"status": {"initialization": {"provisioned": None}}},
        {"status": None},
        [{"op": "remove", "path": "/status"}],
    ],
)
def test_a_provisioned_region_stays_so(api: Api, change: Any) -> None:
    obj = _created(api, osdpl())
    for value in (False, True):
        latched = {"status": {"initialization": {"provisioned": value}}}
        assert api.patch(obj, latched, subresource="status").accepted
    assert api.patch(obj, change, subresource="status").status == 422


def test_spec_and_status_are_written_apart(api: Api) -> None:
    obj = _created(api, osdpl())
    spec = api.patch(obj, {"status": {"state": "Applied"}}).stored
    status = api.patch(obj, {"spec": {"size": "large"}}, subresource="status").stored
    assert "state" not in spec["status"]
    assert status["spec"]["size"] == "single"


@pytest.mark.parametrize(
    ("obj", "path"),
    [
        (osdpl(featrues={}), "spec.featrues"),
        (
            osdpl(features={"networking": {"tunnel_interface": "x"}}),
            "spec.features.networking.tunnel_interface",
        ),
        (osdpl(services={"compute": {"nova": {"vals": {}}}}), "spec.services.compute.nova.vals"),
        (
            osdpl(common={"openstack": {"releases": {"nova": {"conf": {}}}}}),
            "spec.common.openstack.releases.nova.conf",
        ),
        (bundle(valeus={}), "spec.releases[0].valeus"),
    ],
)
def test_unknown_fields_are_refused(asked: Api, obj: dict[str, Any], path: str) -> None:
    verdict = asked.create(obj)
    assert verdict.status == 400
    assert f'unknown field "{path}"' in verdict.message


def test_server_side_apply_refuses_unknown_fields_too(api: Api) -> None:
    verdict = api.apply(osdpl(featrues={}), manager="a-person")
    assert not verdict.accepted
    assert "field not declared in schema" in verdict.message


def test_free_form_maps_keep_whatever_is_in_them(api: Api) -> None:
    values = {"a": None, "b": {"$patch": "delete"}, "c": [{"d": 1.5}], "no": False}
    stored = _created(api, osdpl(services={"identity": {"keystone": {"values": values}}}))
    assert stored["spec"]["services"]["identity"]["keystone"]["values"] == values


def test_values_of_a_release_are_owned_as_a_whole(api: Api) -> None:
    obj = bundle(values={f"key{number}": {"a": 1, "b": 2} for number in range(200)})
    stored = api.apply(obj, manager="osctl-core").stored
    assert len(json.dumps(stored["metadata"]["managedFields"])) < 1000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no", 'Invalid value: "boolean"'),
        ("2025.1", 'Invalid value: "number"'),
        ('"2024.1"', 'supported values: "2025.1", "2025.2", "2026.1"'),
    ],
)
def test_kubectl_refuses_a_version_that_is_none(
    served: Sandbox, namespace: str, text: str, message: str
) -> None:
    region = yaml.safe_dump(osdpl(namespace=namespace)).replace("'2026.1'", text)
    with pytest.raises(SandboxError, match=r"spec\.openstackVersion") as caught:
        served.kubectl("apply", "-f", "-", input=region)
    assert message in str(caught.value)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_are_accepted(asked: Api, example: Any) -> None:
    verdict = asked.create(yaml.safe_load(example.read_text(encoding="utf-8")))
    assert verdict.accepted, verdict.message


def test_kubectl_shows_the_columns(served: Sandbox, api: Api) -> None:
    obj = _created(api, osdpl())
    api.patch(
        obj,
        {"status": {"progress": "14/14", "healthy": "41/42", "openstackVersion": "2026.1"}},
        subresource="status",
    )
    header, line = served.kubectl("get", "osdpl", "-n", api.namespace).splitlines()
    assert header.split() == ["NAME", "READY", "REASON", "VERSION", "PROGRESS", "HEALTHY", "AGE"]
    assert line.split()[:6] == ["region-one", "Unknown", "Initializing", "2026.1", "14/14", "41/42"]


def test_the_category_lists_both_kinds(served: Sandbox, api: Api) -> None:
    _created(api, osdpl())
    _created(api, bundle())
    listed = served.kubectl("get", "openstack", "-n", api.namespace, "-o", "name").split()
    assert listed == ["helmbundle.osctl.dev/identity", "openstackdeployment.osctl.dev/region-one"]


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("osdpl.spec.features.networking.tunnelInterface", "carries tunnels"),
        ("osdpl.spec.nodes", "on labelled nodes only"),
        ("osdpl.status.conditions.reason", "docs/"),
        ("hb.spec.releases.values", "$secretRef"),
    ],
)
def test_kubectl_explains_fields(served: Sandbox, field: str, words: str) -> None:
    assert words in served.kubectl("explain", field)
