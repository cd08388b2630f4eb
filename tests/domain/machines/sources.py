"""A MachineSet of the machine API as clusters have them, and edits of it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from controller.domain.machines.provider_spec import Cluster
from controller.domain.values.chart_values import parse_path

NAMESPACE = "openshift-machine-api"
#: In the namespace of the sources, so that Secrets are where both APIs look for them.
CLUSTER = Cluster("ocp-x7k2p", NAMESPACE)
NETWORK = "0a1b2c3d-0000-4000-8000-000000000001"
_PLACES = {"provider": "spec.template.spec.providerSpec.value", "machine": "spec.template", "set": ""}


def machine_set(name: str = "workers-a", **edits: Any) -> dict[str, Any]:
    """A set of three machines that is carried without a warning."""
    labels = {"machine.openshift.io/cluster-api-machineset": name}
    source = {
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "MachineSet",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": dict(labels)},
            "template": {
                "metadata": {"labels": dict(labels)},
                "spec": {"providerSpec": {"value": provider_spec()}},
            },
        },
    }
    return edited(source, edits)


def provider_spec() -> dict[str, Any]:
    return {
        "apiVersion": "machine.openshift.io/v1alpha1",
        "kind": "OpenstackProviderSpec",
        "cloudsSecret": {"name": "openstack-cloud-credentials"},
        "cloudName": "openstack",
        "flavor": "m1.large",
        "image": "rhcos-9.6",
        "networks": [{"uuid": NETWORK, "noAllowedAddressPairs": True}],
        "userDataSecret": {"name": "worker-user-data"},
    }


def edited(source: Mapping[str, Any], edits: Mapping[str, Any]) -> dict[str, Any]:
    """The source with `{"provider.flavor": "m1.small"}`; null removes, and of a list the index is named."""
    found: dict[str, Any] = copy.deepcopy(dict(source))
    for place, value in edits.items():
        first, _, rest = place.partition(".")
        path = parse_path(f"{_PLACES[first]}.{rest}".strip("."))
        at: Any = found
        for key in path[:-1]:
            at = at[key] if isinstance(key, int) else at.setdefault(key, {})
        if value is None:
            at.pop(path[-1], None)
        else:
            at[path[-1]] = copy.deepcopy(value)
    return found
