"""The way back from Cluster API: nothing that is carried is changed by going there and back."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.domain.machines.machine_set import PORTS_ANNOTATION, convert_machine_set
from controller.domain.machines.provider_spec import Cluster
from controller.domain.machines.restored_machine_set import Restored, restore_machine_set
from controller.domain.values.chart_values import parse_path
from tests.domain.machines.conversions import Case, cases
from tests.domain.machines.sources import CLUSTER, NAMESPACE, machine_set


def there_and_back(source: dict[str, Any], cluster: Cluster = CLUSTER) -> Restored:
    converted = convert_machine_set(source, cluster)
    assert converted.machine_set and converted.template, converted.errors
    return restore_machine_set(converted.machine_set, converted.template, cluster, NAMESPACE)


NAME = st.text("abcdefgh", min_size=1, max_size=4)
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=1, max_size=5)
UUID = st.uuids().map(str)
#: A tag has no comma, which separates them in the machine API, and is there once.
TAGS = st.lists(NAME, min_size=1, max_size=3, unique=True)
JOINED = TAGS.map(",".join)


def record(required: dict[str, Any], **optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional)


FILTER = {
    "description": TEXT,
    "projectId": NAME,
    "tags": JOINED,
    "tagsAny": JOINED,
    "notTags": JOINED,
    "notTagsAny": JOINED,
}
NETWORK = record({"uuid": UUID}) | record({"filter": record({"name": TEXT}, **FILTER)})
SUBNET = record({"uuid": UUID}) | record(
    {
        "filter": record(
            {"name": TEXT},
            **FILTER,
            ipVersion=st.sampled_from([4, 6]),
            gateway_ip=NAME,
            cidr=NAME,
            ipv6AddressMode=NAME,
            ipv6RaMode=NAME,
        )
    }
)
PROFILE = record(
    {"trusted": st.sampled_from(["true", "false"])}, capabilities=st.just('["switchdev"]')
) | record({"capabilities": st.just('["switchdev"]')})
OF_PORTS = {"vnicType": NAME, "profile": PROFILE, "portSecurity": st.booleans()}
OF_NETWORKS = {**OF_PORTS, "noAllowedAddressPairs": st.just(True), "portTags": TAGS}


@st.composite
def networks(draw: Callable[..., Any]) -> dict[str, Any]:
    """With a network, or with subnets alone, whose tags of their own are none of the others'."""
    found = {**draw(record({}, **OF_NETWORKS)), **(draw(NETWORK) if draw(st.booleans()) else {})}
    least = 0 if "uuid" in found or "filter" in found else 1
    subnets = draw(st.lists(SUBNET, min_size=least, max_size=3))
    if subnets:
        found["subnets"] = subnets
    if least and len(subnets) > 1:
        for index, subnet in enumerate(subnets):
            if draw(st.booleans()):
                subnet["portTags"] = [f"own-{index}"]
    return found


PORT = record(
    {"networkID": UUID},
    **OF_PORTS,
    nameSuffix=NAME,
    description=TEXT,
    adminStateUp=st.booleans(),
    macAddress=NAME,
    trunk=st.booleans(),
    tags=TAGS,
    fixedIPs=st.lists(record({"subnetID": UUID}, ipAddress=NAME), min_size=1, max_size=2),
    securityGroups=st.lists(UUID, min_size=1, max_size=2),
    allowedAddressPairs=st.lists(record({"ipAddress": NAME}, macAddress=NAME), min_size=1, max_size=2),
)
GROUP = record({"uuid": UUID}) | record({"name": TEXT}, filter=record({"description": TEXT}, projectId=NAME))
VOLUME = record({"type": NAME}, availabilityZone=NAME)
DEVICE = record(
    {
        "name": NAME,
        "sizeGiB": st.integers(1, 9),
        "storage": record({"type": st.just("Local")}) | record({"type": st.just("Volume")}, volume=VOLUME),
    }
)
EDITS = record(
    {},
    **{
        "provider.flavor": TEXT,
        "provider.keyName": TEXT,
        "provider.availabilityZone": NAME,
        "provider.trunk": st.just(True),
        "provider.configDrive": st.booleans(),
        "provider.tags": TAGS,
        "provider.serverMetadata": st.dictionaries(TEXT, TEXT, min_size=1, max_size=3),
        "provider.networks": st.lists(networks(), min_size=1, max_size=3),
        "provider.ports": st.lists(PORT, min_size=1, max_size=3),
        "provider.securityGroups": st.lists(GROUP, min_size=1, max_size=3),
        "provider.additionalBlockDevices": st.lists(
            DEVICE, min_size=1, max_size=3, unique_by=lambda one: one["name"]
        ),
        "provider.serverGroupID": UUID,
        "provider.userDataSecret": record({"name": NAME}),
        "set.spec.replicas": st.integers(0, 5),
        "set.spec.minReadySeconds": st.integers(1, 5),
        "set.spec.deletePolicy": st.sampled_from(["Random", "Newest", "Oldest"]),
        "set.metadata.labels": st.dictionaries(NAME, NAME, min_size=1, max_size=2),
        "set.metadata.annotations": st.dictionaries(NAME, TEXT, min_size=1, max_size=2),
        "machine.metadata.annotations": st.just({"machine.openshift.io/delete-machine": "yes"}),
        "machine.spec.metadata": st.just({"labels": {"node-role.kubernetes.io/infra": ""}}),
        "machine.spec.lifecycleHooks": record(
            {"preDrain": st.just([{"name": "a", "owner": "b"}, {"name": "c", "owner": "d"}])},
            preTerminate=st.just([{"name": "a", "owner": "b"}]),
        ),
    },
)


@st.composite
def sources(draw: Callable[..., Any]) -> dict[str, Any]:
    """Sets of the supported subset, in the words of the way back: no default is left out."""
    edits = {"set.spec.deletePolicy": "Random", **draw(EDITS)}
    source = machine_set(**edits)
    if draw(st.booleans()):
        provider = source["spec"]["template"]["spec"]["providerSpec"]["value"]
        root = draw(record({"diskSize": st.integers(1, 9)}, volumeType=NAME, availabilityZone=NAME))
        provider["rootVolume"] = {"sourceUUID": provider.pop("image"), **root}
    return source


def unchanged(source: dict[str, Any]) -> None:
    restored = there_and_back(copy.deepcopy(source))
    assert restored.errors == ()
    assert restored.machine_set == source


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(sources())
def test_there_and_back_is_where_one_was(source: dict[str, Any]) -> None:
    unchanged(source)


@pytest.mark.exhaustive
@settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(sources())
def test_there_and_back_ten_thousand_times_is_where_one_was(source: dict[str, Any]) -> None:
    unchanged(source)


@pytest.mark.slow
@pytest.mark.parametrize("case", cases(), ids=lambda case: case.of)
def test_what_comes_back_has_the_same_mirror(case: Case) -> None:
    """Also where the source had said it in other words."""
    converted = case.converted()
    cluster = Cluster(CLUSTER.name, CLUSTER.namespace, tuple(case.golden.get("virtualAddresses") or ()))
    assert converted.machine_set and converted.template
    restored = restore_machine_set(converted.machine_set, converted.template, cluster, NAMESPACE)
    assert restored.errors == ()
    assert restored.machine_set is not None
    again = convert_machine_set(restored.machine_set, cluster)
    assert (again.machine_set, again.template) == (converted.machine_set, converted.template)


UNKNOWN_THERE = {
    "a flavor by id": ("template", "flavorID", "1", "template.spec.template.spec.flavorID: does not exist"),
    "hints": (
        "template",
        "schedulerHintAdditionalProperties",
        [{"name": "a"}],
        "template.spec.template.spec.schedulerHintAdditionalProperties: does not exist",
    ),
    "an image by id": ("template", "image", {"id": "1"}, "spec.template.spec.providerSpec.value.image"),
    "a way of naming": ("set", "machineNamingStrategy", {"template": "x"}, "spec.machineNamingStrategy"),
    "a version": ("set", "template.spec.version", "v1.33", "spec.template.spec.version: does not exist"),
    "a drain that ends": (
        "set",
        "template.spec.nodeDrainTimeout",
        "1h",
        "spec.template.spec.nodeDrainTimeout: does not exist",
    ),
}


@pytest.mark.parametrize("where, path, value, message", UNKNOWN_THERE.values(), ids=UNKNOWN_THERE)
def test_what_the_machine_api_does_not_know_is_an_error_on_the_way_back(
    where: str, path: str, value: Any, message: str
) -> None:
    converted = convert_machine_set(machine_set(), CLUSTER)
    assert converted.machine_set and converted.template
    at: Any = converted.machine_set["spec"]
    if where == "template":
        at = converted.template["spec"]["template"]["spec"]
    *parents, last = parse_path(path)
    for key in parents:
        at = at[key]
    at[last] = value
    restored = restore_machine_set(converted.machine_set, converted.template, CLUSTER, NAMESPACE)
    assert restored.machine_set is None
    assert str(restored.errors[0]).startswith(message)


def test_a_template_that_others_wrote_comes_back_too() -> None:
    source = machine_set()
    converted = convert_machine_set(source, CLUSTER)
    assert converted.machine_set and converted.template
    template = {**converted.template, "metadata": {"name": "by-hand", "namespace": CLUSTER.namespace}}
    converted.machine_set["spec"]["template"]["spec"]["infrastructureRef"]["name"] = "by-hand"
    restored = restore_machine_set(converted.machine_set, template, CLUSTER, NAMESPACE)
    assert restored.errors == ()
    assert restored.machine_set is not None
    assert restored.machine_set["spec"]["template"] == source["spec"]["template"]


@pytest.mark.parametrize("counts", ["0", "9", "x", "-1", "1,", "99999999999999999999"])
def test_a_note_of_ports_that_cannot_be_is_not_looked_at(counts: str) -> None:
    converted = convert_machine_set(machine_set(), CLUSTER)
    assert converted.machine_set and converted.template
    converted.template["metadata"]["annotations"][PORTS_ANNOTATION] = counts
    assert restore_machine_set(converted.machine_set, converted.template, CLUSTER, NAMESPACE).errors == ()


@pytest.mark.parametrize("spec", [None, {}, {"template": {}}, {"template": {"spec": []}}])
def test_what_has_another_shape_is_an_error(spec: Any) -> None:
    converted = convert_machine_set(machine_set(), CLUSTER)
    assert converted.machine_set and converted.template
    broken = {**converted.template, "spec": spec}
    assert restore_machine_set(converted.machine_set, broken, CLUSTER, NAMESPACE).errors
