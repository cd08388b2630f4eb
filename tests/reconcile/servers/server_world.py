"""OpenStackServers in a FakeKube and a cloud in memory, served by the real reconciler on a fake clock."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from controller.domain.api.conditions import find
from controller.domain.servers.cloud_resources import CloudResource, Kind
from controller.errors import Conflict
from controller.ports.kubernetes import SECRET, SERVER, KubeObject
from controller.reconcile.servers.openstack_server import ServersReconciler
from tests.api.definitions import server
from tests.fakes.kube import FakeKube
from tests.fakes.servers import FakeServerCloud, FakeServerClouds
from tests.fakes.world import FakeClock, FakeRandomness
from tests.reconcile.health.test_health import SilentEvents
from tests.reconcile.watched import DEFINITIONS

NAMESPACE = "openstack"
RESYNC = 300.0


class Killed(BaseException):
    """The process is no more: nothing that it would have done afterwards happens."""


class ServerWorld:
    """`step()` is one pass, `settle()` is passes until all is at rest; `restart()` is another process."""

    def __init__(self) -> None:
        self.clock = FakeClock(start=1_780_000_000.0)
        self.kube = FakeKube(clock=self.clock)
        for definition in DEFINITIONS:
            self.kube.serve(definition)
        self.cloud = FakeServerCloud()
        self.events = SilentEvents()
        self.clouds = FakeServerClouds(self.cloud)
        self.give_credentials()
        self.restart()

    def restart(self) -> None:
        self.reconciler = ServersReconciler(
            kube=self.kube,
            clock=self.clock,
            randomness=FakeRandomness(),
            events=self.events,
            clouds=self.clouds,
            region_namespace=NAMESPACE,
            resync=RESYNC,
        )

    # -- Kubernetes ---------------------------------------------------------------------------------

    def give_secret(self, name: str, namespace: str = NAMESPACE, **data: bytes) -> None:
        meta = {"name": name, "namespace": namespace}
        encoded = {key.replace("_", "."): base64.b64encode(value).decode() for key, value in data.items()}
        obj = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": encoded}
        if self.kube.get(SECRET, name, namespace) is not None:
            self.kube.delete(SECRET, name, namespace)
        self.kube.create(obj)

    def give_credentials(self, content: bytes = b"right", namespace: str = NAMESPACE) -> None:
        self.give_secret("openstack-clouds", namespace, clouds_yaml=content)

    def turn_to(self, cloud: FakeServerCloud) -> None:
        """The Secret holds credentials of another cloud, or of another project, from now on."""
        self.clouds.cloud = cloud
        self.restart()

    def create(self, name: str = "bastion", namespace: str = NAMESPACE, **spec: Any) -> None:
        obj = server(name, **spec)
        obj["metadata"]["namespace"] = namespace
        self.kube.create(obj)

    def edit(self, name: str = "bastion", namespace: str = NAMESPACE, **spec: Any) -> None:
        self.kube.merge_patch(SERVER, name, namespace, {"spec": spec})

    def annotate(self, value: str | None, name: str = "bastion") -> None:
        patch = {"metadata": {"annotations": {"osctl.dev/suspend": value}}}
        self.kube.merge_patch(SERVER, name, NAMESPACE, patch)

    def delete(self, name: str = "bastion", namespace: str = NAMESPACE) -> None:
        self.kube.delete(SERVER, name, namespace)

    def wipe_status(self, name: str = "bastion") -> None:
        live = self.live(name)
        self.kube.replace({**live, "status": {}}, subresource="status")

    def live(self, name: str = "bastion", namespace: str = NAMESPACE) -> KubeObject:
        found = self.kube.get(SERVER, name, namespace)
        assert found is not None
        return found

    def status(self, name: str = "bastion", namespace: str = NAMESPACE) -> Mapping[str, Any]:
        return self.live(name, namespace).get("status") or {}

    def condition(self, type_: str = "Ready", name: str = "bastion") -> Mapping[str, Any]:
        return find(self.status(name)["conditions"], type_)

    def reason(self, type_: str = "Ready", name: str = "bastion") -> str:
        return str(self.condition(type_, name)["reason"])

    # -- passes -------------------------------------------------------------------------------------

    def step(self, name: str = "bastion", namespace: str = NAMESPACE) -> float | None:
        try:
            return self.reconciler.reconcile(namespace, name)
        except Conflict:
            return 1.0

    def settle(self, name: str = "bastion", namespace: str = NAMESPACE, passes: int = 60) -> None:
        """Passes, and the time between them, until nothing is to be done before the next resync."""
        for _ in range(passes):
            pause = self.step(name, namespace)
            if pause is None or pause == RESYNC:
                return
            self.clock.advance(pause)
            self.cloud.pass_time()
        raise AssertionError(f"it does not come to rest: {self.status(name, namespace)}")

    def things(self) -> dict[Kind, list[CloudResource]]:
        return {kind: self.cloud.of(kind) for kind in Kind if self.cloud.of(kind)}

    def only(self, kind: Kind) -> CloudResource:
        (one,) = self.cloud.of(kind)
        return one


def ready(**spec: Any) -> ServerWorld:
    """A world with one server that is ready."""
    world = ServerWorld()
    world.create(**spec)
    world.settle()
    assert world.condition()["status"] == "True", world.status()
    return world
