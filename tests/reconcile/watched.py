"""A cluster in memory whose watches a test delivers, delays or cuts."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml

from controller.domain.api.names import MANAGED_BY, MANAGED_BY_US
from controller.errors import HelmFailed, ReleaseMissing
from controller.ports.helm import RenderedRelease, Revision
from controller.ports.kubernetes import (
    DAEMONSET,
    DEPLOYMENT,
    HELMBUNDLE,
    JOB,
    NODE,
    OSDPL,
    POD,
    PVC,
    SECRET,
    STATEFULSET,
    KubeObject,
    Resource,
)
from controller.reconcile.shared.object_store import ObjectStore
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock

CRDS = Path(__file__).parents[2] / "charts" / "openstack-controller" / "files" / "crds"
DEFINITIONS = tuple(
    yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    for path in sorted(CRDS.glob("*.yaml"))
)
KINDS = {
    resource.kind: resource
    for resource in (DEPLOYMENT, STATEFULSET, DAEMONSET, JOB, POD, PVC, NODE, SECRET, OSDPL, HELMBUNDLE)
}
NAME = "region-one"


class WatchedCluster:
    """`put` and `remove` change an object and deliver the event, unless the watch is cut (`cut`)."""

    def __init__(self, clock: FakeClock) -> None:
        self.kube = FakeKube(clock=clock)
        for definition in DEFINITIONS:
            self.kube.serve(definition)
        self.cut = False
        self.store: ObjectStore | None = None

    def put(self, obj: Mapping[str, Any]) -> KubeObject:
        resource = KINDS[str(obj["kind"])]
        meta = {key: value for key, value in obj["metadata"].items() if key not in ("uid", "resourceVersion")}
        desired = {**copy.deepcopy(dict(obj)), "metadata": meta}
        status = desired.pop("status", None)
        there = self.kube.get(resource, meta["name"], meta.get("namespace"))
        if there is None:
            live = self.kube.create(desired)
        else:
            version = there["metadata"]["resourceVersion"]
            live = self.kube.replace({**desired, "metadata": {**meta, "resourceVersion": version}})
        if status is not None:
            live = self.kube.replace({**live, "status": status}, subresource="status")
        self.deliver("MODIFIED" if there else "ADDED", live)
        return live

    def remove(self, kind: str, name: str, namespace: str | None = "openstack") -> None:
        live = self.kube.get(KINDS[kind], name, namespace)
        assert live is not None
        self.kube.delete(KINDS[kind], name, namespace)
        self.deliver("DELETED", live)

    def deliver(self, event: str | None, obj: KubeObject) -> None:
        resource = KINDS[str(obj["kind"])]
        if not self.cut and self.store is not None and resource in self.store.resources:
            self.store.feed(resource, event, obj)

    def relist(self, *resources: Resource) -> None:
        """What a watch does that begins again: all objects there are, and no word on those that are not."""
        self.cut = False
        for resource in resources:
            for obj in self.kube.list(resource):
                self.deliver(None, obj)

    def region(self, *, observed: int = 1, applied: int | None = None) -> None:
        """What core says of its spec: looked at, and `applied` (as new as that, unless it waits)."""
        spec = {
            "openstackVersion": "2026.1",
            "preset": "core",
            "size": "single",
            "publicDomainName": "example.org",
        }
        body = {"apiVersion": OSDPL.api_version, "kind": OSDPL.kind}
        meta = {"name": NAME, "namespace": "openstack"}
        if self.kube.get(OSDPL, NAME, "openstack") is None:
            self.kube.create({**body, "metadata": meta, "spec": spec})
        status = {
            "observedGeneration": observed,
            "appliedGeneration": observed if applied is None else applied,
        }
        self.kube.apply(
            {**body, "metadata": meta, "status": status}, manager="osctl-core", subresource="status"
        )

    def bundle(
        self,
        *releases: str,
        state: str = "Deployed",
        revision: int = 1,
        secret: str = "",
        settled: bool = True,
    ) -> None:
        """The region's one bundle."""
        values = {"password": {"$secretRef": {"name": secret, "key": "password"}}} if secret else {}
        live = self.put(
            {
                "apiVersion": HELMBUNDLE.api_version,
                "kind": HELMBUNDLE.kind,
                "metadata": {
                    "name": "compute",
                    "namespace": "openstack",
                    "labels": {"osctl.dev/deployment": NAME, MANAGED_BY: MANAGED_BY_US},
                },
                "spec": {
                    "releases": [
                        {"name": name, "chart": {"name": name, "path": name}, "values": values}
                        for name in releases
                    ]
                },
            }
        )
        ready = {
            "type": "Ready",
            "status": "True" if settled else "False",
            "reason": "ReleasesDeployed",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        status = {
            "observedGeneration": live["metadata"]["generation"],
            "conditions": [ready],
            "releases": [{"name": name, "state": state, "revision": revision} for name in releases],
        }
        self.deliver("MODIFIED", self.kube.replace({**live, "status": status}, subresource="status"))

    def status(self) -> dict[str, Any]:
        osdpl = self.kube.get(OSDPL, NAME, "openstack")
        assert osdpl is not None
        found: dict[str, Any] = osdpl.get("status") or {}
        return found

    def condition(self, type_: str) -> dict[str, Any]:
        return next((one for one in self.status().get("conditions", []) if one["type"] == type_), {})


class Records:
    """Manifests of releases by name and revision; the rest of the port is not used here.

    A revision is `deployed` unless `statuses` says otherwise; `damaged` ones cannot be read.
    """

    def __init__(self) -> None:
        self.manifests: dict[tuple[str, int], RenderedRelease] = {}
        self.statuses: dict[tuple[str, int], str] = {}
        self.damaged: set[tuple[str, int]] = set()
        self.reads = 0

    def observe(
        self, namespace: str, *, bundle: str = "", releases: Collection[str] = ()
    ) -> dict[str, tuple[Revision, ...]]:
        found: dict[str, tuple[Revision, ...]] = {}
        for name, version in sorted(self.manifests):
            status = self.statuses.get((name, version), "deployed")
            found[name] = (*found.get(name, ()), Revision(version, status))
        return {name: history for name, history in found.items() if name in releases}

    def manifest(self, release: str, namespace: str, version: int) -> RenderedRelease:
        self.reads += 1
        if (release, version) in self.damaged:
            raise HelmFailed(f"Helm's record of revision {version} of {release} cannot be read")
        if (release, version) not in self.manifests:
            raise ReleaseMissing(f"{release} has no revision {version}")
        return self.manifests[release, version]
