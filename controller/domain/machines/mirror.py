"""The desired mirror, compared with the existing one."""

from __future__ import annotations

from typing import Any

from controller.domain.machines.authority import PAUSED_BY_US
from controller.domain.machines.first_difference import is_same
from controller.domain.machines.machine_set import CLUSTER_API, MACHINE_SET
from controller.domain.machines.metadata import PAUSED
from controller.domain.machines.writes import (
    FINALIZER,
    SET_LABEL,
    Raw,
    Target,
    TemplateOwner,
    has_finalizer,
    set_label,
    with_metadata,
)

_CLUSTER_API_DOMAIN = "cluster.x-k8s.io"


def new_mirror(converted: Raw, cluster: Raw) -> dict[str, Any]:
    """The mirror of a set without one: paused, so that nothing begins before it is complete."""
    annotations = {**converted["metadata"].get("annotations", {}), PAUSED: PAUSED_BY_US}
    return with_metadata(
        converted,
        annotations=annotations,
        finalizers=[FINALIZER],
        ownerReferences=[_reference(cluster)],
    )


def corrected_mirror(mirror: Raw, converted: Raw, cluster: Raw) -> dict[str, Any] | None:
    """The mirror with exactly the desired content, or None if it is right.

    Annotations of Cluster API's own, such as those that hold fields of another version, are left to it.
    """
    desired = converted["metadata"]
    before = mirror["metadata"].get("annotations") or {}
    annotations = {
        **{key: value for key, value in before.items() if _is_of_cluster_api(key)},
        **desired.get("annotations", {}),
        # Also if another writer paused it, because that writer may resume it at any time.
        PAUSED: PAUSED_BY_US,
    }
    finalizers = list(mirror["metadata"].get("finalizers") or ())
    after = {
        **with_metadata(
            mirror,
            labels=desired["labels"],
            annotations=annotations,
            finalizers=finalizers if has_finalizer(mirror) else [*finalizers, FINALIZER],
            ownerReferences=with_owner(mirror, _reference(cluster)),
        ),
        "spec": _with_version_of(mirror, converted["spec"]),
    }
    return None if is_same(after, dict(mirror)) else after


def _with_version_of(mirror: Raw, spec: Raw) -> dict[str, Any]:
    """The spec with the existing version of templates: Cluster API shows the newest version that it knows."""
    there = ((mirror.get("spec") or {}).get("template") or {}).get("spec") or {}
    version = str((there.get("infrastructureRef") or {}).get("apiVersion"))
    machine = spec["template"]["spec"]
    reference = machine["infrastructureRef"]
    if version.partition("/")[0] != reference["apiVersion"].partition("/")[0]:
        version = reference["apiVersion"]
    machine = {**machine, "infrastructureRef": {**reference, "apiVersion": version}}
    return {**spec, "template": {**spec["template"], "spec": machine}}


def owned_template(converted: Raw, name: str, owner: Raw) -> dict[str, Any]:
    """The template of a set without one."""
    return with_metadata(converted, labels={SET_LABEL: set_label(name)}, ownerReferences=[owner])


def corrected_template(template: Raw, converted: Raw, name: str, owner: Raw) -> dict[str, Any] | None:
    """The template with its label, its owner, its note and its spec, or None if it is right."""
    annotations = {
        **(template["metadata"].get("annotations") or {}),
        **converted["metadata"].get("annotations", {}),
    }
    after = {
        **with_metadata(
            template,
            labels={**(template["metadata"].get("labels") or {}), SET_LABEL: set_label(name)},
            annotations=annotations or None,
            ownerReferences=with_owner(template, owner),
        ),
        "spec": converted["spec"],
    }
    return None if is_same(after, dict(template)) else after


def is_of_set(template: Raw, name: str) -> bool:
    """Whether a template was created for the mirror of the set."""
    return (template["metadata"].get("labels") or {}).get(SET_LABEL) == set_label(name)


def owner_of_templates(mirror: Raw, cluster: Raw, target: Target) -> dict[str, Any]:
    """The owners of a mirror's templates."""
    if target.template_owner is TemplateOwner.CLUSTER:
        return _reference(cluster)
    return _reference(mirror)


def with_owner(obj: Raw, owner: Raw) -> list[dict[str, Any]]:
    """The owners, with this one; an earlier object of its name is removed."""
    kept = [one for one in owners(obj) if not _is_same_name(one, owner) or one.get("uid") == owner["uid"]]
    return kept if any(one.get("uid") == owner["uid"] for one in kept) else [*kept, dict(owner)]


def without_mirror(template: Raw, name: str) -> list[dict[str, Any]]:
    """The owners without the mirror of that name."""
    mirror = {"apiVersion": CLUSTER_API, "kind": MACHINE_SET, "name": name}
    return [one for one in owners(template) if not _is_same_name(one, mirror)]


def is_claimed(template: Raw, name: str) -> bool:
    """Whether a template has owners other than the mirror of that name, and the Cluster of all."""
    return any(one.get("kind") != "Cluster" for one in without_mirror(template, name))


def owners(obj: Raw) -> list[dict[str, Any]]:
    return list(obj["metadata"].get("ownerReferences") or ())


def _is_same_name(one: Raw, other: Raw) -> bool:
    group, other_group = (str(each.get("apiVersion")).partition("/")[0] for each in (one, other))
    return (group, one.get("kind"), one.get("name")) == (other_group, other.get("kind"), other.get("name"))


def _is_of_cluster_api(key: str) -> bool:
    domain = key.partition("/")[0]
    own = domain == _CLUSTER_API_DOMAIN or domain.endswith(f".{_CLUSTER_API_DOMAIN}")
    return own and key != f"{_CLUSTER_API_DOMAIN}/delete-machine"


def _reference(owner: Raw) -> dict[str, Any]:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }
