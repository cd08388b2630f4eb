"""One machine of a converted set as an OpenStackServer."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.machines.machine_set import convert_machine_set
from controller.domain.machines.one_machine import OneMachine, expand_machine
from tests.api.definitions import SCHEMAS
from tests.domain.machines.conversions import Case, cases
from tests.domain.machines.sources import CLUSTER, NETWORK, machine_set

SCHEMA = SCHEMAS["OpenStackServer"]
SUBNET = "0a1b2c3d-0000-4000-8000-000000000002"


def expanded(**edits: Any) -> OneMachine:
    converted = convert_machine_set(machine_set(**edits), CLUSTER)
    assert converted.machine_set and converted.template
    return expand_machine(converted.machine_set, converted.template)


@pytest.mark.slow
@pytest.mark.parametrize("case", cases(), ids=lambda case: case.of)
def test_the_server_of_every_conversion_is_one_that_the_api_server_takes(case: Case) -> None:
    converted = case.converted()
    assert converted.machine_set and converted.template
    made = expand_machine(converted.machine_set, converted.template)
    if not converted.template["spec"]["template"]["spec"].get("ports"):
        assert [problem.path for problem in made.errors] == ["spec.ports"]
        return
    assert made.errors == () and made.server is not None
    assert SCHEMA.problems(SCHEMA.defaulted(made.server)) == []


def test_it_has_what_cluster_api_takes_from_the_machine_and_what_the_template_says() -> None:
    made = expanded(**{"provider.availabilityZone": "az1", "provider.serverMetadata": {"role": "worker"}})
    assert (made.warnings, made.errors) == ((), ())
    assert made.server == {
        "apiVersion": "osctl.dev/v1alpha1",
        "kind": "OpenStackServer",
        "metadata": {"name": "workers-a", "namespace": CLUSTER.namespace},
        "spec": {
            "identityRef": {"name": "openstack-cloud-credentials", "cloudName": "openstack"},
            "flavor": "m1.large",
            "image": {"filter": {"name": "rhcos-9.6"}},
            "ports": [{"network": {"id": NETWORK}, "allowedAddressPairs": []}],
            "serverMetadata": [{"key": "role", "value": "worker"}],
            "availabilityZone": "az1",
            "userDataRef": {"name": "worker-user-data"},
        },
    }


def test_a_port_may_be_known_by_its_subnet_alone() -> None:
    made = expanded(**{"provider.networks": [{"subnets": [{"uuid": SUBNET}], "noAllowedAddressPairs": True}]})
    assert made.server is not None
    assert made.server["spec"]["ports"] == [
        {"fixedIPs": [{"subnet": {"id": SUBNET}}], "allowedAddressPairs": []}
    ]


def test_what_a_server_cannot_have_is_named() -> None:
    port = {
        "networkID": NETWORK,
        "description": "of the team",
        "portSecurity": False,
        "allowedAddressPairs": [{"ipAddress": "10.0.0.5"}],
    }
    made = expanded(**{"provider.networks": [], "provider.ports": [port]})
    assert [warning.path for warning in made.warnings] == [
        "spec.ports[0].description",
        "spec.ports[0].allowedAddressPairs",
    ]
    assert expanded(**{"provider.networks": []}).errors[0].path == "spec.ports"
