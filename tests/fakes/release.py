"""A deployed release on `FakeKube`: its record, its objects as Helm applied them, and a watch of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from controller.domain.api.names import HELM_FIELD_MANAGER
from controller.domain.values.chart_values import copied
from controller.errors import HelmFailed, ReleaseMissing
from controller.ports.kubernetes import KubeObject, Resource, WatchSink
from controller.reconcile.releases.drift.compare import as_sent
from tests.fakes.kube import FakeKube

NAMESPACE = "openstack"


class ReleasesOnFake:
    """`required_objects` of `controller.ports.helm.ReleaseRecords`, and what Helm does to the cluster."""

    def __init__(self, kube: FakeKube) -> None:
        self._kube = kube
        self._standing: dict[tuple[str, int], list[KubeObject]] = {}
        self.reads = 0
        self.broken = False

    def deploy(self, release: str, revision: int, *objects: Mapping[str, Any]) -> None:
        """Applies the objects as Helm does, and records them."""
        self._standing[(release, revision)] = [copied(dict(obj)) for obj in objects]
        for obj in objects:
            self._kube.apply(as_sent(dict(obj), release, NAMESPACE), manager=HELM_FIELD_MANAGER)

    def required_objects(
        self, release: str, namespace: str, version: int, *, names: Collection[str] | None = None
    ) -> tuple[KubeObject, ...]:
        self.reads += 1
        if self.broken:
            raise HelmFailed(f"the record of revision {version} of {release} cannot be read")
        if (release, version) not in self._standing:
            raise ReleaseMissing(f"release {release} has no revision {version}")
        found = self._standing[(release, version)]
        return tuple(copied(obj) for obj in found if names is None or obj["metadata"]["name"] in names)


class FakeWatch:
    """`controller.ports.kubernetes.MetadataWatch` on `FakeKube`; a change is reported when the test says
    so."""

    def __init__(self, kube: FakeKube) -> None:
        self._kube = kube
        self._sinks: dict[tuple[Resource, str], WatchSink] = {}
        self._seen: dict[tuple[Resource, str], dict[str, Mapping[str, Any]]] = {}

    @property
    def kinds(self) -> list[str]:
        return sorted(resource.kind for resource, _ in self._sinks)

    def follow(self, resource: Resource, namespace: str, sink: WatchSink) -> None:
        if (resource, namespace) in self._sinks:
            return
        self._sinks[(resource, namespace)] = sink
        self.list_anew(resource, namespace)

    def list_anew(self, resource: Resource, namespace: str) -> None:
        """As after a connection that was lost for long."""
        place = (resource, namespace)
        self._seen[place] = self._now(*place)
        self._sinks[place].listed(resource, namespace, list(self._seen[place].values()))

    def deliver(self) -> None:
        """Tells every change since the last time."""
        for place, sink in self._sinks.items():
            before, after = self._seen[place], self._now(*place)
            self._seen[place] = after
            for name in before.keys() | after.keys():
                one = after.get(name, before.get(name, {}))
                if name not in after or before.get(name) != one:
                    sink.changed(place[0], one, gone=name not in after)

    def _now(self, resource: Resource, namespace: str) -> dict[str, Mapping[str, Any]]:
        found = (obj["metadata"] for obj in self._kube.stored(resource))
        return {meta["name"]: meta for meta in found if meta.get("namespace", "") == namespace}
