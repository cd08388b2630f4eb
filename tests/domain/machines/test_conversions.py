"""What becomes of each field of a MachineSet of the machine API."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.domain.machines.machine_set import convert_machine_set
from tests.domain.machines.conversions import Case, cases, told
from tests.domain.machines.sources import CLUSTER, NETWORK, machine_set

PROVIDER = "spec.template.spec.providerSpec.value"
CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.of)
def test_a_conversion_is_as_it_was_reviewed(case: Case) -> None:
    assert told(case) == {
        key: value for key, value in case.golden.items() if key in ("machineSet", "template", "warnings")
    }


def test_a_plain_set_is_carried_without_a_word() -> None:
    converted = convert_machine_set(machine_set(), CLUSTER)
    assert (converted.errors, converted.warnings) == ((), ())


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "taints": (
        {"machine.spec.taints": [{"key": "a", "effect": "NoSchedule"}]},
        "spec.template.spec.taints: cannot be converted",
    ),
    "a name in the template": (
        {"machine.metadata.name": "worker"},
        "spec.template.metadata.name: cannot be converted",
    ),
    "a prefix of names in the template": (
        {"machine.metadata.generateName": "worker-"},
        "spec.template.metadata.generateName: cannot be converted",
    ),
    "a namespace of nodes": (
        {"machine.spec.metadata.namespace": "elsewhere"},
        "spec.template.spec.metadata.namespace: cannot be converted",
    ),
    "an owner": (
        {"set.metadata.ownerReferences": [{"kind": "Fleet"}]},
        "metadata.ownerReferences: cannot be converted",
    ),
    "an id of one machine": (
        {"machine.spec.providerID": "openstack:///1"},
        "spec.template.spec.providerID: cannot be converted",
    ),
    "a floating address": (
        {"provider.floatingIP": "192.0.2.1"},
        f"{PROVIDER}.floatingIP: cannot be converted: machines of a set cannot share one address",
    ),
    "an unknown key of a profile": (
        {"provider.networks[0].profile": {"physical_network": "x"}},
        f"{PROVIDER}.networks[0].profile.physical_network: is not a key of a binding profile",
    ),
    "an unknown capability": (
        {"provider.networks[0].profile": {"capabilities": "other"}},
        f"{PROVIDER}.networks[0].profile.capabilities: is not switchdev",
    ),
    "an unknown field": (
        {"provider.flavour": "m1"},
        f'{PROVIDER}.flavour: is not a known field; did you mean "flavor"?',
    ),
    "an unknown field of a port": (
        {"provider.ports": [{"networkID": NETWORK, "mtu": 1400}]},
        f"{PROVIDER}.ports[0].mtu: is not a known field",
    ),
    "no flavor": ({"provider.flavor": ""}, f"{PROVIDER}.flavor: is missing"),
    "no image": ({"provider.image": None}, f"{PROVIDER}.image: is missing"),
    "no Secret with clouds": ({"provider.cloudsSecret": None}, f"{PROVIDER}.cloudsSecret.name: is missing"),
    "no user data": ({"provider.userDataSecret": None}, f"{PROVIDER}.userDataSecret: is missing"),
    "machines of another cloud": (
        {"provider.kind": "AWSMachineProviderConfig"},
        f"{PROVIDER}.kind: is not a machine on OpenStack",
    ),
    "an id that is none": (
        {"provider.networks[0].uuid": "private"},
        f"{PROVIDER}.networks[0].uuid: is not a UUID",
    ),
    "a group of a port that is no id": (
        {"provider.ports": [{"networkID": NETWORK, "securityGroups": ["default"]}]},
        f"{PROVIDER}.ports[0].securityGroups[0]: is not a UUID",
    ),
    "an entry of networks that names nothing": (
        {"provider.networks": [{}]},
        f"{PROVIDER}.networks[0]: names neither a network nor a subnet",
    ),
    "a subnet that names nothing": (
        {"provider.networks[0].subnets": [{"portTags": ["a"]}]},
        f"{PROVIDER}.networks[0].subnets[0]: names no subnet",
    ),
    "a security group that names nothing": (
        {"provider.securityGroups": [{}]},
        f"{PROVIDER}.securityGroups[0]: names no security group",
    ),
    "a root volume without a size": (
        {"provider.rootVolume": {"volumeType": "fast"}},
        f"{PROVIDER}.rootVolume.diskSize: is missing",
    ),
    "a zone of a volume with a space": (
        {"provider.rootVolume": {"diskSize": 1, "availabilityZone": "zone a"}},
        f"{PROVIDER}.rootVolume.availabilityZone: has a space",
    ),
    "a device that is the root volume": (
        {"provider.additionalBlockDevices": [{"name": "root", "sizeGiB": 1, "storage": {"type": "Local"}}]},
        f"{PROVIDER}.additionalBlockDevices[0].name: is the name of the root volume",
    ),
    "a device without a size": (
        {"provider.additionalBlockDevices": [{"name": "a", "storage": {"type": "Local"}}]},
        f"{PROVIDER}.additionalBlockDevices[0].sizeGiB: is missing",
    ),
    "a device of an unknown type": (
        {"provider.additionalBlockDevices": [{"name": "a", "sizeGiB": 1, "storage": {"type": "Tape"}}]},
        f"{PROVIDER}.additionalBlockDevices[0].storage.type: must be Local or Volume",
    ),
    "two values of one label": (
        {"machine.metadata.labels": {"a": "1"}, "machine.spec.metadata.labels": {"a": "2"}},
        "spec.template.spec.metadata.labels: a has another value",
    ),
    "a selector of nothing": ({"set.spec.selector": {}}, "spec.selector: selects nothing"),
    "a selector of other machines": (
        {"set.spec.selector": {"matchLabels": {"team": "a"}}},
        "spec.selector.matchLabels: team does not select",
    ),
    "an expression for other machines": (
        {"set.spec.selector": {"matchExpressions": [{"key": "team", "operator": "Exists"}]}},
        "spec.selector.matchExpressions[0].key: does not select",
    ),
    "an unknown policy": ({"set.spec.deletePolicy": "Any"}, "spec.deletePolicy: must be one of Random"),
    "a number for a text": (
        {"provider.flavor": 5},
        f"{PROVIDER}.flavor: expected a string, got the number 5",
    ),
    "a text for a number": ({"set.spec.replicas": "3"}, "spec.replicas: expected a whole number"),
    "fewer than no replicas": ({"set.spec.replicas": -1}, "spec.replicas: must be from 0"),
    "a map for a list": ({"provider.networks": {}}, f"{PROVIDER}.networks: expected a list, got a map"),
    "a text for a map": ({"provider.serverMetadata": "a"}, f"{PROVIDER}.serverMetadata: expected a map"),
    "half a character": ({"provider.keyName": "\ud800"}, f"{PROVIDER}.keyName: expected a string"),
    "metadata of the server that is too long": (
        {"provider.serverMetadata": {"a": "x" * 256}},
        f"{PROVIDER}.serverMetadata.a: key and value may each have 255",
    ),
    "a label that no server takes": (
        {"machine.spec.metadata.labels": {"node-role.kubernetes.io/a b": ""}},
        'spec.template.metadata.labels["node-role.kubernetes.io/a b"]: must have a key of the form',
    ),
    "a name that leaves no room": ({"set.metadata.name": "x" * 243}, "metadata.name: has 243 characters"),
    "a hook without an owner": (
        {"machine.spec.lifecycleHooks": {"preDrain": [{"name": "a"}]}},
        "spec.template.spec.lifecycleHooks.preDrain[0].owner: is missing",
    ),
}


@pytest.mark.parametrize("edits, message", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_carried_is_an_error_with_its_path(edits: dict[str, Any], message: str) -> None:
    converted = convert_machine_set(machine_set(**edits), CLUSTER)
    assert (converted.machine_set, converted.template) == (None, None)
    assert any(str(error).startswith(message) for error in converted.errors), converted.errors


def test_every_error_is_reported_at_once() -> None:
    edits = {"provider.flavor": None, "provider.image": None, "machine.spec.taints": [{}]}
    assert len(convert_machine_set(machine_set(**edits), CLUSTER).errors) == 3


def test_errors_without_an_end_are_not_all_reported() -> None:
    ports = [{"networkID": NETWORK, f"x{index}": 1} for index in range(1000)]
    assert len(convert_machine_set(machine_set(**{"provider.ports": ports}), CLUSTER).errors) == 200


def test_what_is_no_machine_set_of_the_machine_api_is_refused() -> None:
    source = {**machine_set(), "apiVersion": "cluster.x-k8s.io/v1beta1"}
    [error] = convert_machine_set(source, CLUSTER).errors
    assert str(error) == "kind: is not a MachineSet of machine.openshift.io/v1beta1"


def test_another_cluster_gives_another_name_of_the_cluster_and_the_same_template() -> None:
    here, there = (
        convert_machine_set(machine_set(), replace(CLUSTER, name=name)) for name in ("here", "there")
    )
    assert here.template == there.template
    assert there.machine_set is not None
    assert there.machine_set["spec"]["clusterName"] == "there"


def reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    return [reordered(one) for one in value] if isinstance(value, list) else value


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.of)
def test_the_order_of_maps_changes_nothing(case: Case) -> None:
    source = machine_set(**case.golden["source"])
    one, other = convert_machine_set(source, CLUSTER), convert_machine_set(reordered(source), CLUSTER)
    assert (one.machine_set, one.template) == (other.machine_set, other.template)


@pytest.mark.slow
def test_the_source_is_left_as_it_is() -> None:
    for case in CASES:
        source = machine_set(**case.golden["source"])
        before = copy.deepcopy(source)
        convert_machine_set(source, CLUSTER)
        assert source == before


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
PLACES = [
    "set.metadata.labels",
    "set.spec.selector",
    "set.spec.template",
    "machine.spec",
    "machine.spec.lifecycleHooks",
    "provider.networks",
    "provider.networks[0].subnets",
    "provider.networks[0].profile",
    "provider.ports",
    "provider.securityGroups",
    "provider.rootVolume",
    "provider.additionalBlockDevices",
    "provider.metadata",
    "provider.tags",
]


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(PLACES), JSON)
def test_no_input_ends_the_conversion_otherwise_than_by_errors(place: str, value: Any) -> None:
    converted = convert_machine_set(machine_set(**{place: value}), CLUSTER)
    assert (converted.machine_set is None) == bool(converted.errors)
