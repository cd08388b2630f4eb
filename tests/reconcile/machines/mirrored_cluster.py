"""MachineSets of the machine API, a Cluster of Cluster API, and the reconciler between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.api.conditions import find
from controller.domain.machines.provider_spec import Cluster
from controller.domain.machines.writes import Target, TemplateOwner
from controller.ports.kubernetes import KubeObject
from controller.reconcile.machines.machine_sets import (
    MIRROR,
    SOURCE,
    TEMPLATE,
    MachineSetsReconciler,
)
from tests.domain.machines.sources import NAMESPACE, edited, machine_set
from tests.fakes.kube import FakeKube, Request
from tests.fakes.world import FakeClock

THERE = "openshift-cluster-api"
NAME = "workers-a"


class Killed(BaseException):
    """The process ends here."""


@dataclass
class Told:
    """`controller.ports.kubernetes.Events` that remembers."""

    events: list[tuple[str, str]] = field(default_factory=list)

    def emit(
        self, obj: Mapping[str, Any], *, type_: str, reason: str, message: str, logged: bool = False
    ) -> None:
        self.events.append((reason, message))


class MirroredCluster:
    """`edit` changes a source as a person does; `settle` runs passes until nothing is written."""

    def __init__(self, owner: TemplateOwner = TemplateOwner.MACHINE_SET) -> None:
        self.clock = FakeClock()
        self.kube = FakeKube(self.clock)
        self.told = Told()
        self.target = Target(Cluster("ocp-x7k2p", THERE), owner)
        self.kube.create(
            {
                "apiVersion": "cluster.x-k8s.io/v1beta1",
                "kind": "Cluster",
                "metadata": {"name": "ocp-x7k2p", "namespace": THERE},
                "spec": {},
            }
        )

    def add(self, name: str = NAME, who: str = "MachineAPI", **edits: Any) -> KubeObject:
        made = self.kube.create(machine_set(name, **{"set.spec.authoritativeAPI": who or None, **edits}))
        return self.say(name, authoritativeAPI=who, observedGeneration=made["metadata"]["generation"])

    def reconciler(self) -> MachineSetsReconciler:
        return MachineSetsReconciler(
            kube=self.kube,
            clock=self.clock,
            events=self.told,
            namespace=NAMESPACE,
            target=self.target,
            resync=60.0,
        )

    def settle(self, passes: int = 12) -> None:
        """Each pass as after a restart. Raises AssertionError where there is no end."""
        for _ in range(passes):
            before = self.kube.version
            self.reconciler().reconcile()
            self.kube.collect_garbage()
            if self.kube.version == before:
                return
        raise AssertionError("still not at rest")

    # -- what is there

    def source(self, name: str = NAME) -> KubeObject | None:
        return self.kube.get(SOURCE, name, NAMESPACE)

    def mirror(self, name: str = NAME) -> KubeObject | None:
        return self.kube.get(MIRROR, name, THERE)

    def templates(self) -> list[KubeObject]:
        return self.kube.list(TEMPLATE, THERE)

    def template_names(self) -> set[str]:
        return {one["metadata"]["name"] for one in self.templates()}

    def template_of(self, name: str = NAME) -> str:
        return str(self.there(name)["spec"]["template"]["spec"]["infrastructureRef"]["name"])

    def here(self, name: str = NAME) -> KubeObject:
        """The source, which is there."""
        found = self.source(name)
        assert found is not None
        return found

    def there(self, name: str = NAME) -> KubeObject:
        """The mirror, which is there."""
        found = self.mirror(name)
        assert found is not None
        return found

    def synchronized(self, name: str = NAME) -> Mapping[str, Any]:
        return find(self.here(name)["status"].get("conditions") or (), "Synchronized")

    # -- what others do

    def edit(self, name: str = NAME, **edits: Any) -> KubeObject:
        """A person edits the source, and the machine API observes it."""
        after = self.kube.replace(edited(self.here(name), edits))
        return self.say(name, observedGeneration=after["metadata"]["generation"])

    def say(self, name: str = NAME, **status: Any) -> KubeObject:
        """The machine API writes its status."""
        there = self.here(name)
        after = {**(there.get("status") or {}), **status}
        return self.kube.replace({**there, "status": after}, subresource="status")

    def change(self, obj: KubeObject, change: Callable[[KubeObject], None]) -> KubeObject:
        """Someone edits an object by hand."""
        change(obj)
        return self.kube.replace(obj)

    def say_paused(self, who: str, *, paused: bool, name: str = NAME) -> None:
        """The controllers of one API say whether they stand still."""
        condition = {"type": "Paused", "status": str(paused)}
        there = self.here(name) if who == "MachineAPI" else self.there(name)
        status = dict(there.get("status") or {})
        if who == "MachineAPI":
            others = [one for one in status.get("conditions") or () if one["type"] != "Paused"]
            status["conditions"] = [*others, condition]
        else:
            status["v1beta2"] = {"conditions": [condition]}
        self.kube.replace({**there, "status": status}, subresource="status")


def kill_at(kube: FakeKube, number: int, *, before: bool) -> None:
    """The process ends at the write of that number: before it is done, or before its answer is read."""
    count = 0

    def hook(request: Request) -> None:
        nonlocal count
        count += 1
        if count == number:
            raise Killed

    if before:
        kube.before_write = hook
    else:
        kube.after_write = hook
