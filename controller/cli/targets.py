"""The targets of a command: the region, bundles, or releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from controller.cli.cluster import Cluster
from controller.domain.api.names import DEPLOYMENT_LABEL
from controller.domain.validation.definitions.crd_schema import nearest
from controller.errors import ObjectMissing
from controller.ports.kubernetes import HELMBUNDLE, KubeObject, KubeObjects, Resource
from controller.ports.system import Clock

Bundles = Annotated[
    list[str] | None,
    typer.Option(
        "--bundle", metavar="NAME", help="Only this HelmBundle; may be repeated.", show_default=False
    ),
]


@dataclass(frozen=True)
class Target:
    """One release, or a whole bundle if `release` is empty."""

    bundle: KubeObject
    release: str = ""

    @property
    def name(self) -> str:
        """The bundle's name."""
        return str(self.bundle["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.bundle["metadata"]["namespace"])

    @property
    def title(self) -> str:
        """As messages name it."""
        return f"release {self.release} of bundle {self.name}" if self.release else f"bundle {self.name}"

    @property
    def of_a_region(self) -> bool:
        """Whether core writes the bundle's spec."""
        return DEPLOYMENT_LABEL in (self.bundle["metadata"].get("labels") or {})

    def annotation(self, for_all: str, prefix: str) -> str:
        """The annotation of a request for all releases of the bundle, or for this one."""
        return f"{prefix}/{self.release}" if self.release else for_all

    def spec(self) -> dict[str, Any]:
        """The release in the bundle's spec, or empty."""
        listed = (self.bundle.get("spec") or {}).get("releases") or []
        return next((one for one in listed if one.get("name") == self.release), {})

    def entry(self) -> dict[str, Any]:
        """The release in the bundle's status, or empty."""
        listed = (self.bundle.get("status") or {}).get("releases") or []
        return next((one for one in listed if one.get("name") == self.release), {})


def find_targets(
    cluster: Cluster, releases: Sequence[str] | None, bundles: Sequence[str] | None
) -> list[Target]:
    """The releases and bundles of these names. Raises ObjectMissing for a missing or ambiguous one."""
    every = cluster.kube.list(HELMBUNDLE, cluster.namespace or None)
    found = [
        Target(_one(every, name, [b for b in every if b["metadata"]["name"] == name], "bundle"))
        for name in bundles or ()
    ]
    return found + [find_release(cluster, name, every) for name in releases or ()]


def find_release(cluster: Cluster, name: str, every: KubeObjects | None = None) -> Target:
    """The release of that name in the namespace, or the only one in all namespaces. Raises ObjectMissing."""
    if every is None:
        every = cluster.kube.list(HELMBUNDLE, cluster.namespace or None)
    return Target(_one(every, name, [one for one in every if name in releases_of(one)], "release"), name)


def _one(every: KubeObjects, name: str, found: KubeObjects, what: str) -> KubeObject:
    if len(found) == 1:
        return found[0]
    if found:
        where = ", ".join(sorted(f'"{one["metadata"]["namespace"]}"' for one in found))
        raise ObjectMissing(f'there are several {what}s "{name}"; choose a namespace with -n: {where}')
    known = sorted(
        {one["metadata"]["name"] for one in every}
        if what == "bundle"
        else {release for one in every for release in releases_of(one)}
    )
    meant = nearest(name, known)
    hint = f'did you mean "{meant}"?' if meant else f"there is: {', '.join(known) or 'none'}"
    raise ObjectMissing(f'there is no {what} "{name}"; {hint}')


def releases_of(bundle: KubeObject) -> set[str]:
    """Names of the releases that a bundle has, or should have."""
    desired = (bundle.get("spec") or {}).get("releases") or []
    there = (bundle.get("status") or {}).get("releases") or []
    return {str(one.get("name")) for one in (*desired, *there)}


def stamp(clock: Clock) -> str:
    """A new unique text for a request."""
    return datetime.fromtimestamp(clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def annotate(
    cluster: Cluster, resource: Resource, obj: KubeObject, name: str, text: str | None
) -> KubeObject:
    """Sets an annotation, or removes it; the object afterwards. Raises ObjectMissing if it is gone."""
    return patch(cluster, resource, obj, {"metadata": {"annotations": {name: text}}})


def patch(cluster: Cluster, resource: Resource, obj: KubeObject, change: dict[str, Any]) -> KubeObject:
    """Merges a change into an object. Raises ObjectMissing if it is gone."""
    meta = obj["metadata"]
    patched = cluster.kube.merge_patch(resource, meta["name"], meta["namespace"], change)
    if patched is None:
        raise ObjectMissing(f"{resource.kind} {meta['name']} was deleted meanwhile")
    return patched
