"""The conversion back: a MachineSet of the machine API from one of Cluster API and its template.

Fields that cannot be converted back are not listed. Instead, the result is converted again, and the first
field that differs from the original is the error. So nothing is lost silently here either, and a written
source never changes its own mirror.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.machines.fields import filled
from controller.domain.machines.first_difference import first_difference
from controller.domain.machines.machine_set import (
    MACHINE_SET,
    PORTS_ANNOTATION,
    SOURCE_API,
    convert_machine_set,
)
from controller.domain.machines.metadata import restored_hooks, restored_marks, restored_node_marks
from controller.domain.machines.neutron import restored_security_group
from controller.domain.machines.provider_spec import API_VERSIONS, KIND, Cluster
from controller.domain.machines.restored_ports import restored_ports
from controller.domain.values.chart_values import format_path
from controller.errors import Problem


@dataclass(frozen=True)
class Restored:
    """A mirror as a source: the object, or the errors."""

    machine_set: dict[str, Any] | None
    errors: tuple[Problem, ...]


def restore_machine_set(
    mirror: Mapping[str, Any], template: Mapping[str, Any], cluster: Cluster, namespace: str
) -> Restored:
    """The source in `namespace` of which these two would be the mirror."""
    try:
        restored = _restored(mirror, template, namespace)
    except (AttributeError, KeyError, TypeError, ValueError, IndexError):
        problem = Problem("spec", "is not a MachineSet with a template for its machines")
        return Restored(None, (problem,))
    converted = convert_machine_set(restored, cluster)
    if converted.machine_set is None or converted.template is None:
        return Restored(None, converted.errors)
    return _checked(restored, mirror, template, converted.machine_set, converted.template)


def _checked(
    restored: dict[str, Any],
    mirror: Mapping[str, Any],
    template: Mapping[str, Any],
    mirror_again: Mapping[str, Any],
    template_again: Mapping[str, Any],
) -> Restored:
    own_name = {"template": {"spec": {"infrastructureRef": {"name": template["metadata"]["name"]}}}}
    spec_again = _merged(mirror_again["spec"], own_name)
    difference = first_difference(mirror["spec"], spec_again, ("spec",)) or first_difference(
        template["spec"]["template"]["spec"],
        template_again["spec"]["template"]["spec"],
        ("template", "spec", "template", "spec"),
    )
    if difference is None:
        return Restored(restored, ())
    message = "does not exist in a MachineSet of the machine API"
    return Restored(None, (Problem(format_path(difference), message, "remove it"),))


def _merged(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(left)
    for key, value in right.items():
        found[key] = _merged(found.get(key) or {}, value) if isinstance(value, Mapping) else value
    return found


def _restored(mirror: Mapping[str, Any], template: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    spec = mirror["spec"]
    machines = spec["template"]["metadata"]
    machine = {
        **filled(metadata=restored_node_marks(machines), lifecycleHooks=restored_hooks(machines)),
        "providerSpec": {"value": _provider_spec(spec["template"]["spec"], template)},
    }
    return {
        "apiVersion": SOURCE_API,
        "kind": MACHINE_SET,
        "metadata": {
            "name": mirror["metadata"]["name"],
            "namespace": namespace,
            **restored_marks(mirror["metadata"], of_machines=False),
        },
        "spec": {
            "replicas": spec.get("replicas", 1),
            **filled(minReadySeconds=spec.get("minReadySeconds") or None),
            "deletePolicy": spec.get("deletePolicy") or "Random",
            "selector": dict(spec["selector"]),
            "template": {"metadata": restored_marks(machines, of_machines=True), "spec": machine},
        },
    }


def _provider_spec(machine: Mapping[str, Any], template: Mapping[str, Any]) -> dict[str, Any]:
    spec = template["spec"]["template"]["spec"]
    identity = spec.get("identityRef") or {}
    root = _root_volume(spec)
    image = (spec["image"].get("filter") or {}).get("name")
    group = spec.get("serverGroup") or {}
    return {
        "apiVersion": API_VERSIONS[0],
        "kind": KIND,
        **filled(
            cloudsSecret=filled(name=identity.get("name")),
            cloudName=identity.get("cloudName"),
            flavor=spec.get("flavor"),
            image=None if root else image,
            keyName=spec.get("sshKeyName"),
            availabilityZone=machine.get("failureDomain"),
            **restored_ports(spec.get("ports") or [], _counts(template)),
            securityGroups=[restored_security_group(one) for one in spec.get("securityGroups") or ()],
            trunk=spec.get("trunk") or None,
            tags=spec.get("tags"),
            serverMetadata={one["key"]: one["value"] for one in spec.get("serverMetadata") or ()},
            configDrive=spec.get("configDrive"),
            rootVolume={**filled(sourceUUID=image), **root} if root else None,
            additionalBlockDevices=[_block_device(one) for one in spec.get("additionalBlockDevices") or ()],
            serverGroupID=group.get("id"),
            serverGroupName=(group.get("filter") or {}).get("name"),
            userDataSecret=filled(name=machine["bootstrap"].get("dataSecretName")),
        ),
    }


def _counts(template: Mapping[str, Any]) -> list[int] | None:
    text = (template["metadata"].get("annotations") or {}).get(PORTS_ANNOTATION)
    if text is None:
        return [] if text == "" else None
    counts = text.split(",")
    if not all(one.isascii() and one.isdigit() and len(one) < 5 for one in counts):
        return None
    return [int(one) for one in counts]


def _root_volume(spec: Mapping[str, Any]) -> dict[str, Any]:
    root = spec.get("rootVolume")
    if not root:
        return {}
    return filled(
        diskSize=root.get("sizeGiB"),
        volumeType=root.get("type"),
        availabilityZone=(root.get("availabilityZone") or {}).get("name"),
    )


def _block_device(device: Mapping[str, Any]) -> dict[str, Any]:
    storage = device["storage"]
    volume = storage.get("volume") or {}
    restored = filled(
        type=volume.get("type"), availabilityZone=(volume.get("availabilityZone") or {}).get("name")
    )
    return {
        "name": device["name"],
        "sizeGiB": device["sizeGiB"],
        "storage": {"type": storage["type"], **filled(volume=restored)},
    }
