"""A MachineSet of the machine API as a MachineSet of Cluster API, with the template of its machines.

Every field of the source is converted or named: in the errors, which prevent any output, or in the warnings.
Nothing here depends on the order of maps, and the same source gives the same objects.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.machines.fields import Fields, Findings, filled
from controller.domain.machines.metadata import CLUSTER_NAME, Marks, machine_marks, refuse_names, set_marks
from controller.domain.machines.provider_spec import Cluster, ProviderParts, convert_provider_spec
from controller.domain.validation.metadata_rules import metadata_problems
from controller.errors import Problem

SOURCE_API = "machine.openshift.io/v1beta1"
CLUSTER_API = "cluster.x-k8s.io/v1beta1"
OPENSTACK_API = "infrastructure.cluster.x-k8s.io/v1beta1"
MACHINE_SET = "MachineSet"
TEMPLATE = "OpenStackMachineTemplate"
RANDOM = "Random"
_DELETE_POLICIES = (RANDOM, "Newest", "Oldest")
#: The number of ports of each entry of `networks`, on the template: `1,3`.
PORTS_ANNOTATION = "machines.osctl.dev/ports-of-networks"
_HASH_LENGTH = 10
_LONGEST_NAME = 253 - 1 - _HASH_LENGTH


@dataclass(frozen=True)
class Converted:
    """The result of a conversion: both objects, or the errors."""

    machine_set: dict[str, Any] | None
    template: dict[str, Any] | None
    warnings: tuple[Problem, ...]
    errors: tuple[Problem, ...]


def convert_machine_set(source: Mapping[str, Any], cluster: Cluster) -> Converted:
    """The mirror of a MachineSet of machine.openshift.io/v1beta1 whose machines are servers of OpenStack."""
    findings = Findings()
    whole = Fields(source, (), findings)
    if source.get("apiVersion") != SOURCE_API or source.get("kind") != MACHINE_SET:
        findings.refuse(("kind",), f"is not a {MACHINE_SET} of {SOURCE_API}")
        return Converted(None, None, (), tuple(findings.errors))
    metadata = whole.below("metadata")
    name = metadata.text("name", required="the name of the set", most=_LONGEST_NAME)
    namespace = metadata.text("namespace")
    metadata.refused("ownerReferences", "cannot be converted: the owner is not an object of Cluster API", "")
    marks = set_marks(metadata)
    spec = whole.below("spec")
    template = spec.below("template")
    machine = template.below("spec")
    template_metadata = template.below("metadata")
    refuse_names(template_metadata)
    machines = machine_marks(template_metadata, machine)
    template_metadata.finish()
    provider = machine.below("providerSpec")
    parts = convert_provider_spec(provider.below("value"), cluster, namespace)
    provider.finish()
    _left_out(machine)
    template.finish()
    made = _made_template(name, parts, cluster)
    mirror = _mirror(
        spec, _mirror_metadata(name, marks, cluster), machines, _machine(parts, made, cluster), cluster
    )
    whole.below("status")
    whole.text("apiVersion")
    whole.text("kind")
    whole.finish()
    errors = findings.errors or _refused(mirror, made)
    found = (tuple(findings.warnings), tuple(errors))
    return Converted(None, None, *found) if errors else Converted(mirror, made, *found)


def template_name(machine_set: str, spec: Mapping[str, Any]) -> str:
    """`<set>-<hash>` for the spec of a machine: the same for the same spec, however its maps are ordered."""
    return f"{machine_set}-{spec_hash(spec)}"


def spec_hash(spec: Mapping[str, Any]) -> str:
    """The first hex digits of SHA-256 of the canonical JSON: sorted keys, no spaces, ASCII only."""
    text = json.dumps(spec, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]


def _made_template(name: str, parts: ProviderParts, cluster: Cluster) -> dict[str, Any]:
    counts = ",".join(map(str, parts.port_counts))
    return {
        "apiVersion": OPENSTACK_API,
        "kind": TEMPLATE,
        "metadata": {
            "name": template_name(name, parts.spec),
            "namespace": cluster.namespace,
            **({"annotations": {PORTS_ANNOTATION: counts}} if counts else {}),
        },
        "spec": {"template": {"spec": parts.spec}},
    }


def _mirror(
    spec: Fields, metadata: Mapping[str, Any], machines: Marks, machine: Mapping[str, Any], cluster: Cluster
) -> dict[str, Any]:
    """The set with its own `metadata`, for machines with these marks and this `spec`."""
    replicas, ready = spec.whole("replicas"), spec.whole("minReadySeconds")
    policy = spec.text("deletePolicy") or RANDOM
    if policy not in _DELETE_POLICIES:
        spec.refuse("deletePolicy", f"must be one of {', '.join(_DELETE_POLICIES)}")
    # It names the API in charge of the set, for both copies.
    spec.text("authoritativeAPI")
    labels = {**machines.labels, CLUSTER_NAME: cluster.name}
    selector = _selector(spec.below("selector"), labels)
    spec.finish()
    return {
        "apiVersion": CLUSTER_API,
        "kind": MACHINE_SET,
        "metadata": dict(metadata),
        "spec": {
            "clusterName": cluster.name,
            "replicas": 1 if replicas is None else replicas,
            **({"minReadySeconds": ready} if ready else {}),
            "deletePolicy": policy,
            "selector": selector,
            "template": {
                "metadata": {"labels": labels, **filled(annotations=machines.annotations)},
                "spec": dict(machine),
            },
        },
    }


def _mirror_metadata(name: str, marks: Marks, cluster: Cluster) -> dict[str, Any]:
    return {
        "name": name,
        "namespace": cluster.namespace,
        "labels": {**marks.labels, CLUSTER_NAME: cluster.name},
        **filled(annotations=marks.annotations),
    }


def _machine(parts: ProviderParts, template: Mapping[str, Any], cluster: Cluster) -> dict[str, Any]:
    return {
        "clusterName": cluster.name,
        "bootstrap": filled(dataSecretName=parts.bootstrap_secret),
        "infrastructureRef": {
            "apiVersion": OPENSTACK_API,
            "kind": TEMPLATE,
            "name": template["metadata"]["name"],
            "namespace": cluster.namespace,
        },
        **filled(failureDomain=parts.failure_domain),
    }


def _selector(selector: Fields, labels: Mapping[str, str]) -> dict[str, Any]:
    """The unchanged selector; Cluster API refuses one that selects nothing, or not its own machines."""
    exact = selector.text_map("matchLabels")
    expressions = []
    for expression in selector.each("matchExpressions"):
        key, operator = expression.text("key", required="a label"), expression.text("operator")
        values = expression.texts("values")
        value = labels.get(key)
        fits = {
            "In": value in values,
            "NotIn": value not in values,
            "Exists": value is not None,
            "DoesNotExist": value is None,
        }
        if operator not in fits:
            expression.refuse("operator", f"must be one of {', '.join(fits)}")
        elif not fits[operator]:
            expression.refuse("key", "does not select the machines of this set", "fit the template's labels")
        expression.finish()
        expressions.append({"key": key, "operator": operator, **filled(values=values)})
    for key, value in exact.items():
        if labels.get(key) != value:
            message = f"{key} does not select the machines of this set"
            selector.refuse("matchLabels", message, "give the template's machines that label")
    if not exact and not expressions:
        selector.findings.refuse(selector.path, "selects nothing", "select the template's machines")
    selector.finish()
    return filled(matchLabels=exact, matchExpressions=expressions)


def _left_out(machine: Fields) -> None:
    machine.refused(
        "taints",
        "cannot be converted: these machines of Cluster API have no taints",
        "let the user data or the kubelet set them, and remove them here",
    )
    machine.refused("providerID", "cannot be converted: the field belongs to one machine", "remove it")
    machine.text("authoritativeAPI")
    machine.finish()


def _refused(mirror: Mapping[str, Any], template: Mapping[str, Any]) -> list[Problem]:
    """Names, labels and annotations that an API server would refuse, with their place in the source."""
    machines = mirror["spec"]["template"]["metadata"]
    of_machines = [
        Problem(f"spec.template.{problem.path}", problem.message, problem.remedy)
        for problem in metadata_problems({"metadata": {"name": "machine", **machines}})
    ]
    found = [*metadata_problems(mirror), *of_machines, *metadata_problems(template)]
    return list(dict.fromkeys(found))
