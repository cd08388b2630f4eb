"""What a container calls, with the world between it and the API server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from controller.errors import ApiUnavailable, Conflict
from controller.ports.kubernetes import KubeObject, Resource
from tests.fakes.objects import identity_of, space_of

if TYPE_CHECKING:
    from tests.world.releases.process import Container
    from tests.world.releases.world import World

# Seconds that a request takes which no one answers, and one that is slow.
SILENT, SLOW = 4.0, 2.0


class KubeLink:
    """`controller.ports.kubernetes.Kube`, of one container."""

    def __init__(self, world: World, container: Container) -> None:
        self._world = world
        self._container = container

    def _called(
        self, words: str, call: Callable[[], Any], identity: tuple[str, str, str, str] | None = None
    ) -> Any:
        """`identity` of what is written, None where nothing is."""
        world, container, write = self._world, self._container, identity is not None
        world.before_call(container, words, write=write)
        if world.is_away(container):
            world.pass_time(SILENT)
            raise ApiUnavailable("the API server does not answer")
        if world.faults.get("API") == "slow":
            world.pass_time(SLOW)
        if identity is None:
            return call()
        if world.faults.get("conflict") and not words.startswith(("create", "delete")):
            world.met["conflict"] += 1
            del world.faults["conflict"]
            raise Conflict("the object has been modified")
        world.watch_writer(container, words)
        result = call()
        world.watch_written(container, identity, words)
        if world.cut(words):
            raise ApiUnavailable("the connection broke")
        world.after_call(container, words)
        return result

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> KubeObject | None:
        kube = self._world.cluster.kube
        found: KubeObject | None = self._called(
            f"get {resource.kind} {name}", lambda: kube.get(resource, name, namespace)
        )
        return found

    def list(self, resource: Resource, namespace: str | None = None, **chosen: str) -> Any:
        kube = self._world.cluster.kube
        return self._called(f"list {resource.kind}", lambda: kube.list(resource, namespace, **chosen))

    def list_metadata(self, resource: Resource, namespace: str | None = None, **chosen: str) -> Any:
        kube = self._world.cluster.kube
        return self._called(
            f"list {resource.kind}", lambda: kube.list_metadata(resource, namespace, **chosen)
        )

    def is_served(self, api_version: str, kind: str) -> bool:
        kube = self._world.cluster.kube
        return bool(self._called(f"discover {api_version}", lambda: kube.is_served(api_version, kind)))

    def apply(
        self,
        obj: Mapping[str, Any],
        *,
        manager: str,
        subresource: str = "",
        dry_run: bool = False,
        **more: Any,
    ) -> KubeObject:
        kube, words = self._world.cluster.kube, f"apply {obj['kind']} {obj['metadata']['name']} {subresource}"
        found: KubeObject = self._called(
            words.strip(),
            lambda: kube.apply(obj, manager=manager, subresource=subresource, dry_run=dry_run, **more),
            None if dry_run else identity_of(obj),
        )
        return found

    def create(self, obj: Mapping[str, Any]) -> KubeObject:
        kube, words = self._world.cluster.kube, f"create {obj['kind']} {obj['metadata']['name']}"
        found: KubeObject = self._called(words, lambda: kube.create(obj), identity_of(obj))
        return found

    def replace(self, obj: Mapping[str, Any], *, subresource: str = "") -> KubeObject:
        kube, words = (
            self._world.cluster.kube,
            f"replace {obj['kind']} {obj['metadata']['name']} {subresource}",
        )
        found: KubeObject = self._called(
            words.strip(), lambda: kube.replace(obj, subresource=subresource), identity_of(obj)
        )
        return found

    def merge_patch(
        self,
        resource: Resource,
        name: str,
        namespace: str | None,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
    ) -> KubeObject | None:
        kube = self._world.cluster.kube
        found: KubeObject | None = self._called(
            f"patch {resource.kind} {name}",
            lambda: kube.merge_patch(resource, name, namespace, patch, subresource=subresource),
            _identity(resource, name, namespace),
        )
        return found

    def delete(self, resource: Resource, name: str, namespace: str | None = None, **more: Any) -> bool:
        kube = self._world.cluster.kube
        return bool(
            self._called(
                f"delete {resource.kind} {name}",
                lambda: kube.delete(resource, name, namespace, **more),
                _identity(resource, name, namespace),
            )
        )

    def pod_log(self, name: str, namespace: str, **more: Any) -> str:
        return ""


def _identity(resource: Resource, name: str, namespace: str | None) -> tuple[str, str, str, str]:
    return (resource.api_version, resource.kind, space_of(resource, namespace), name)
