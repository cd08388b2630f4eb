"""What a process calls, with the world between it and everything else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from controller.errors import ApiUnavailable, CloudUnavailable
from controller.ports.kubernetes import KubeObject, Resource
from tests.fakes.cloud import READS

if TYPE_CHECKING:
    from tests.world.process import Process
    from tests.world.world import World

NOVA, NEUTRON, PLACEMENT, CINDER = "Nova", "Neutron", "Placement", "Cinder"
API_SERVER, FENCING = "API server", "fencing service"
_OTHERS = {
    **dict.fromkeys(
        [
            "network_agents",
            "routed_by",
            "served_by",
            "agents_of_router",
            "agents_of_network",
            "delete_agent",
            "set_agent",
            "add_to_agent",
            "remove_from_agent",
        ],
        NEUTRON,
    ),
    **dict.fromkeys(["allocations", "delete_allocations", "delete_provider"], PLACEMENT),
    **dict.fromkeys(["volume_services", "set_volume_service"], CINDER),
}
# Seconds that a request takes which no one answers, and one to a slow service.
SILENT, SLOW = 20.0, 8.0


class KubeLink:
    """`controller.ports.kubernetes.Kube`, of one process."""

    def __init__(self, world: World, process: Process) -> None:
        self._world = world
        self._process = process

    def _called(self, name: str, words: str, call: Callable[[], Any]) -> Any:
        world, write = self._world, name not in ("get", "list", "list_metadata", "pod_log")
        world.traps.before_call(self._process, API_SERVER, words, write=write)
        fault = world.faults.get(API_SERVER)
        if fault == "away":
            world.pass_time(SILENT)
            raise ApiUnavailable("the API server does not answer")
        if fault == "slow":
            world.pass_time(SLOW)
        result = call()
        if write and world.traps.cut(API_SERVER, words):
            raise ApiUnavailable("the connection broke")
        world.traps.after_call(self._process, words, write=write)
        return result

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> KubeObject | None:
        kube = self._world.cluster.kube
        found: KubeObject | None = self._called(
            "get", f"get {resource.kind} {name}", lambda: kube.get(resource, name, namespace)
        )
        return found

    def list(self, resource: Resource, namespace: str | None = None, **chosen: str) -> Any:
        kube = self._world.cluster.kube
        return self._called("list", f"list {resource.kind}", lambda: kube.list(resource, namespace, **chosen))

    def list_metadata(self, resource: Resource, namespace: str | None = None, **chosen: str) -> Any:
        kube = self._world.cluster.kube
        return self._called(
            "list", f"list {resource.kind}", lambda: kube.list_metadata(resource, namespace, **chosen)
        )

    def is_served(self, api_version: str, kind: str) -> bool:
        kube = self._world.cluster.kube
        return bool(self._called("get", f"discover {api_version}", lambda: kube.is_served(api_version, kind)))

    def apply(self, obj: Any, *, manager: str, subresource: str = "", **more: Any) -> KubeObject:
        kube, words = self._world.cluster.kube, f"apply {obj['kind']} {obj['metadata']['name']}"
        self._world.watched.write("apply", obj["kind"], obj["metadata"]["name"], obj)
        found: KubeObject = self._called(
            "apply", words, lambda: kube.apply(obj, manager=manager, subresource=subresource, **more)
        )
        return found

    def create(self, obj: Any) -> KubeObject:
        kube, words = self._world.cluster.kube, f"create {obj['kind']} {obj['metadata']['name']}"

        def write() -> Any:
            self._world.watched.created(obj)
            return kube.create(obj)

        found: KubeObject = self._called("create", words, write)
        return found

    def replace(self, obj: Any, *, subresource: str = "") -> KubeObject:
        kube, words = self._world.cluster.kube, f"replace {obj['kind']} {obj['metadata']['name']}"
        self._world.watched.write("replace", obj["kind"], obj["metadata"]["name"], obj)
        found: KubeObject = self._called("replace", words, lambda: kube.replace(obj, subresource=subresource))
        return found

    def merge_patch(
        self, resource: Resource, name: str, namespace: str | None, patch: Any, *, subresource: str = ""
    ) -> KubeObject | None:
        kube = self._world.cluster.kube

        def write() -> Any:
            self._world.watched.write("patch", resource.kind, name, patch)
            return kube.merge_patch(resource, name, namespace, patch, subresource=subresource)

        found: KubeObject | None = self._called("patch", f"patch {resource.kind} {name}", write)
        return found

    def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str = "",
        version: str = "",
        propagation: str = "Background",
        grace: int | None = None,
    ) -> bool:
        def write() -> bool:
            self._world.watched.write("delete", resource.kind, name, {"uid": uid})
            return self._world.cluster.delete(
                resource, name, namespace, uid=uid, version=version, grace=grace
            )

        return bool(self._called("delete", f"delete {resource.kind} {name}", write))

    def pod_log(self, name: str, namespace: str, **more: Any) -> str:
        return ""


class CloudLink:
    """`controller.ports.openstack.Cloud`, of one process; with a deadline as the real one keeps it."""

    def __init__(self, world: World, process: Process, begun_by: float = 1e12, until: float = 1e12) -> None:
        self._world = world
        self._process = process
        self._begun_by = begun_by
        self._until = until

    def until(self, deadline: float, *, grace: float = 0.0) -> CloudLink:
        return CloudLink(self._world, self._process, deadline, deadline + grace)

    def longer(self, seconds: float) -> CloudLink:
        return CloudLink(self._world, self._process, self._begun_by, self._until + seconds)

    @property
    def late(self) -> bool:
        return self._process.clock.monotonic() >= self._begun_by

    def close(self) -> None:
        """There is no connection."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def called(*given: Any, **more: Any) -> Any:
            return self._call(name, given, more)

        return called

    def _call(self, name: str, given: tuple[Any, ...], more: dict[str, Any]) -> Any:
        world, service, write = self._world, _OTHERS.get(name, NOVA), name not in READS
        subject = getattr(given[0], "name", given[0]) if given else ""
        words, known = f"{name}({subject})", dict(world.disabled_by)
        world.traps.before_call(self._process, service, words, write=write)
        if self._process.clock.monotonic() >= self._until:
            raise CloudUnavailable("not sent, because the time limit of this reconciliation is reached")
        fault = world.faults.get(service)
        if fault == "away":
            world.pass_time(SILENT)
            raise CloudUnavailable(f"{service} does not answer")
        if fault == "slow":
            world.pass_time(SLOW)
        if write:
            if name in ("set_compute_service", "force_down"):
                self._overtake(str(subject), known)
            world.watched.command(name, str(subject), given, more)
        result = getattr(world.cloud, name)(*given, **more)
        if write and world.traps.cut(service, words):
            raise CloudUnavailable("the connection broke")
        if not write:
            result = world.lie(name, given, result)
        world.traps.after_call(self._process, words, write=write)
        return result

    def _overtake(self, service: str, known: Mapping[str, str]) -> None:
        """What a person did to a service while this request was on its way is lost, as docs/safety.md says:
        Nova knows no precondition."""
        world = self._world
        host = next((one.host for one in world.cloud.services.values() if one.id == service), "")
        for what in (host, f"forced {host}"):
            if what in world.disabled_by.keys() - known.keys():
                world.met["we overtake a person at Nova"] += 1
                del world.disabled_by[what]


class FencingLink:
    """`controller.ports.fencing.Fencing`, of one process."""

    def __init__(self, world: World, process: Process) -> None:
        self._world = world
        self._process = process

    def confirm(self, url: str, *, node: str, uid: str, boot: str, since: float, **more: Any) -> bool:
        world = self._world
        words = f"asks the fencing service for {node}"
        world.traps.before_call(self._process, FENCING, words, write=True)
        fault = world.faults.get(FENCING)
        if fault == "away":
            world.pass_time(SILENT)
            raise CloudUnavailable("the fencing service does not answer")
        done = world.fence(node, uid, late=fault == "slow")
        if world.traps.cut(FENCING, words):
            raise CloudUnavailable("the connection broke")
        world.traps.after_call(self._process, words, write=True)
        return done
