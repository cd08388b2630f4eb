"""One machine of a converted set as an OpenStackServer, like Cluster API's provider would create it.

This tests that the machines of a set start before any of them moves. Fields have the same names on both sides
(OpenStackMachineSpec of cluster-api-provider-openstack, api/v1beta1), and most are copied unchanged. Fields
that Cluster API reads from elsewhere, such as the zone and the user data, come from the set.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.names import API_VERSION
from controller.domain.machines.fields import Findings, filled
from controller.errors import Problem

SERVER_KIND = "OpenStackServer"
_SPEC = ("spec",)


@dataclass(frozen=True)
class OneMachine:
    """The server, or the errors. Paths are those of the server."""

    server: dict[str, Any] | None
    warnings: tuple[Problem, ...]
    errors: tuple[Problem, ...]


def expand_machine(machine_set: Mapping[str, Any], template: Mapping[str, Any]) -> OneMachine:
    """The OpenStackServer of one machine; it has the name and the namespace of the converted set.

    Secrets with clouds.yaml and user data are read from that namespace, as by Cluster API.
    """
    findings = Findings()
    given: dict[str, Any] = copy.deepcopy(template["spec"]["template"]["spec"])
    machine = machine_set["spec"]["template"]["spec"]
    if not given.get("ports"):
        message = "is missing: Cluster API would connect the machine to the network of its cluster"
        findings.refuse((*_SPEC, "ports"), message, "name the networks of the set")
    identity = {key: value for key, value in (given.pop("identityRef", None) or {}).items() if key != "type"}
    spec = {
        **filled(identityRef=identity),
        **given,
        "ports": list(_ports(given.get("ports") or [], findings)),
        **filled(
            availabilityZone=machine.get("failureDomain"),
            userDataRef=filled(name=machine["bootstrap"].get("dataSecretName")),
        ),
    }
    metadata = {key: machine_set["metadata"][key] for key in ("name", "namespace")}
    server = {"apiVersion": API_VERSION, "kind": SERVER_KIND, "metadata": metadata, "spec": spec}
    found = (tuple(findings.warnings), tuple(findings.errors))
    return OneMachine(None if findings.errors else server, *found)


def _ports(ports: list[dict[str, Any]], findings: Findings) -> Iterator[dict[str, Any]]:
    for index, port in enumerate(ports):
        path = (*_SPEC, "ports", index)
        if port.pop("description", ""):
            findings.warn(
                (*path, "description"), "is not converted: the controller identifies its ports by it"
            )
        if port.get("disablePortSecurity"):
            for key in ("securityGroups", "allowedAddressPairs"):
                if port.pop(key, None):
                    findings.warn(
                        (*path, key), "is not converted: Neutron accepts none without port security"
                    )
        yield port
