"""Labels, annotations and hooks of machines, in both APIs.

Common ones keep their names. The machine API puts the labels of `spec.metadata` on nodes; Cluster API puts
those labels of a Machine on its node whose domain is one of `NODE_DOMAINS` or below it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.machines.fields import Fields

NODE_ROLE = "node-role.kubernetes.io"
NODE_DOMAINS = (NODE_ROLE, "node-restriction.kubernetes.io", "node.cluster.x-k8s.io")
CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
PAUSED = "cluster.x-k8s.io/paused"
PRE_DRAIN = "pre-drain.delete.hook.machine.cluster.x-k8s.io"
PRE_TERMINATE = "pre-terminate.delete.hook.machine.cluster.x-k8s.io"
_HOOKS = {"preDrain": PRE_DRAIN, "preTerminate": PRE_TERMINATE}
#: A machine with one of these has that role on its node, for which Cluster API has another label.
_ROLES = ("machine.openshift.io/cluster-api-machine-role", "machine.openshift.io/cluster-api-machine-type")
_DELETE_MACHINE = {"machine.openshift.io/delete-machine": "cluster.x-k8s.io/delete-machine"}
#: Notes of the machine API on a running machine; Cluster API shows them elsewhere.
_SHOWN_LABELS = tuple(f"machine.openshift.io/{name}" for name in ("instance-type", "region", "zone"))
_SHOWN_ANNOTATIONS = ("machine.openshift.io/instance-state",)
#: Belongs to its object, and is not part of the desired state.
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_OWN_DOMAIN = "osctl.dev"


@dataclass(frozen=True)
class Marks:
    """Labels and annotations of one object."""

    labels: dict[str, str]
    annotations: dict[str, str]


def set_marks(metadata: Fields) -> Marks:
    """Labels and annotations of the mirror from those of the set."""
    return Marks(_labels(metadata), _annotations(metadata))


def machine_marks(metadata: Fields, spec: Fields) -> Marks:
    """Labels and annotations of the mirror's machines, including those for their nodes, and hooks."""
    labels, annotations = _labels(metadata), _annotations(metadata)
    for key in metadata.text_map("labels"):
        if is_on_node(key):
            metadata.warn("labels", f"Cluster API also sets {key} on nodes; the machine API does not")
    node = spec.below("metadata")
    for key, value in node.text_map("labels").items():
        if not is_on_node(key):
            message = f"Cluster API sets {key} on machines, but not on their nodes"
            node.warn("labels", message, f"use a label of {NODE_DOMAINS[2]}")
        _add(labels, key, value, node, "labels")
    for key, value in _annotations(node).items():
        node.warn("annotations", f"Cluster API sets {key} on machines, but not on their nodes")
        _add(annotations, key, value, node, "annotations")
    refuse_names(node)
    node.finish()
    for key, value in _hooks(spec.below("lifecycleHooks")).items():
        _add(annotations, key, value, spec, "lifecycleHooks")
    return Marks(dict(sorted(labels.items())), dict(sorted(annotations.items())))


def refuse_names(metadata: Fields) -> None:
    """Names in a template do not belong to a machine, and Cluster API has no field for them."""
    for key in ("name", "generateName", "namespace", "ownerReferences"):
        metadata.refused(key, "cannot be converted: Cluster API has no such field in a template", "remove it")
    metadata.ignored("creationTimestamp", why="the time does not belong to a machine")


def is_on_node(label: str) -> bool:
    """Whether Cluster API puts this label of a Machine on its node."""
    domain, slash, _ = label.partition("/")
    return bool(slash) and any(
        domain == known or (known != NODE_ROLE and domain.endswith(f".{known}")) for known in NODE_DOMAINS
    )


def _add(marks: dict[str, str], key: str, value: str, given: Fields, field: str) -> None:
    if marks.setdefault(key, value) != value:
        given.refuse(field, f"{key} has another value on the machine itself", "give it one value")


def _labels(metadata: Fields) -> dict[str, str]:
    found = {}
    for key, value in metadata.text_map("labels").items():
        if key in _SHOWN_LABELS:
            metadata.warn("labels", f"{key} is not converted: the key describes one running machine")
        elif not is_own(key):
            found[key] = value
    roles = [found[role] for role in _ROLES if found.get(role)]
    found.update({f"{NODE_ROLE}/{role}": "" for role in roles})
    return dict(sorted(found.items()))


def _annotations(metadata: Fields) -> dict[str, str]:
    found = {}
    for key, value in metadata.text_map("annotations").items():
        if key in _SHOWN_ANNOTATIONS:
            metadata.warn("annotations", f"{key} is not converted: the key describes one running machine")
        elif key not in (_LAST_APPLIED, PAUSED) and not is_own(key):
            found[_DELETE_MACHINE.get(key, key)] = value
    return dict(sorted(found.items()))


def is_own(key: str) -> bool:
    """Whether a label or annotation is one of this product's own notes."""
    domain = key.partition("/")[0]
    return domain == _OWN_DOMAIN or domain.endswith(f".{_OWN_DOMAIN}")


def _hooks(hooks: Fields) -> dict[str, str]:
    found = {}
    for field, prefix in _HOOKS.items():
        for hook in hooks.each(field):
            name = hook.text("name", required="the name of the hook", most=63)
            if name and f"{prefix}/{name}" in found:
                hook.refuse("name", "is the name of another hook", "choose another name")
            owner = hook.text("owner", required="the owner of the hook")
            hook.finish()
            if name:
                found[f"{prefix}/{name}"] = owner
    hooks.finish()
    return found


# -- and back


def restored_marks(metadata: Mapping[str, Any], *, of_machines: bool) -> dict[str, Any]:
    """`metadata` of a set, or of its machines, from that of the mirror."""
    labels = dict(metadata.get("labels") or {})
    labels.pop(CLUSTER_NAME, None)
    for role in _ROLES:
        if value := labels.get(role):
            labels.pop(f"{NODE_ROLE}/{value}", None)
    back = {there: here for here, there in _DELETE_MACHINE.items()}
    annotations = {
        back.get(key, key): value
        for key, value in (metadata.get("annotations") or {}).items()
        if key != PAUSED and not is_own(key) and key.partition("/")[0] not in _HOOKS.values()
    }
    if of_machines:
        labels = {key: value for key, value in labels.items() if not is_on_node(key)}
    return _filled_marks(labels, annotations)


def restored_node_marks(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """`spec.metadata` of machines: labels for their nodes, except roles, which come from their own labels."""
    labels = metadata.get("labels") or {}
    implied = {f"{NODE_ROLE}/{labels[role]}" for role in _ROLES if labels.get(role)}
    return _filled_marks(
        {key: value for key, value in labels.items() if is_on_node(key) and key not in implied}, {}
    )


def restored_hooks(metadata: Mapping[str, Any]) -> dict[str, list[dict[str, str]]]:
    """`lifecycleHooks` of machines, sorted by name."""
    found: dict[str, list[dict[str, str]]] = {}
    for field, prefix in _HOOKS.items():
        hooks = [
            {"name": key.partition("/")[2], "owner": value}
            for key, value in sorted((metadata.get("annotations") or {}).items())
            if key.partition("/")[0] == prefix
        ]
        if hooks:
            found[field] = hooks
    return found


def _filled_marks(labels: Mapping[str, str], annotations: Mapping[str, str]) -> dict[str, Any]:
    found = {}
    if labels:
        found["labels"] = dict(sorted(labels.items()))
    if annotations:
        found["annotations"] = dict(sorted(annotations.items()))
    return found
