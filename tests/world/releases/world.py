"""A region in which it is known what is true of its releases, claims and credentials.

`World` holds everything together: time, the cluster, our containers, and what is broken just now. What may
happen in it is in `events`; what must never happen is checked at each write of a container of ours, and
whenever time passes (`cluster`, `truth`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.adapters.helm.cancellation import CancellationToken
from controller.errors import ControllerError, KubeError
from controller.ports.kubernetes import HELMBUNDLE, JOB, OSDPL, KubeObject
from tests.fakes.objects import Identity
from tests.fakes.world import FakeRandomness
from tests.world.clocks import Time
from tests.world.process import Killed
from tests.world.releases.cluster import Backup, Cluster
from tests.world.releases.process import KINDS, Container, Key
from tests.world.releases.region import NAME, NAMESPACE
from tests.world.releases.truth import CREDENTIALS, DATA, TWO
from tests.world.truth import Violated

# What runs by itself looks so often, in seconds; so does the thread of a Lease.
SLICE = 5.0
# Containers look so often while time passes.
LOOK = 20.0
SPEC = {
    "openstackVersion": "2026.1",
    "preset": "core",
    "size": "single",
    "publicDomainName": "example.org",
}


@dataclass(frozen=True)
class Setting:
    """How a region begins. `clock`: by how much ours is wrong; `takes`: claims go with their StatefulSet."""

    volumes: str = "Retain"
    takes: bool = False
    clock: float = 0.0


@dataclass(eq=False)
class Trap:
    """What a container meets at one of its next calls.

    `left`: so many writes (or calls) are left to it before. `what`: dies before or after it, stands still,
    meets another, has its answer lost. `kind`: which container, empty for any. `meanwhile` happens while it
    stands still.
    """

    what: str
    left: int
    kind: str = ""
    seconds: float = 0.0
    meanwhile: list[Any] = field(default_factory=list)
    writes: bool = True


class World:
    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.time = Time()
        self.cluster = Cluster(self.time)
        self.randomness = FakeRandomness(7)
        self.faults: dict[str, str] = {}
        self.traps: list[Trap] = []
        self.meanwhile: list[Any] = []
        self.story: list[str] = []
        self.met: Counter[str] = Counter()
        self.depth = 0
        self.backups: list[Backup] = []
        # By Secret and key: what was there last, as a person has it in a backup.
        self.known: dict[tuple[str, str], str] = {}
        self.osdpl_comes_back: dict[str, Any] | None = None
        # What was asked for by an osdpl that is lost.
        self.lost_spec: dict[str, Any] | None = None
        # By pod: how wrong the clock of its node is beside what the setting says.
        self.clocks: dict[str, float] = {}
        self.containers: list[Container] = []
        self.cluster.is_deaf = lambda: any(one.blind for one in self.containers)
        self._pods = 1

    def begin(self) -> None:
        """The region is installed, and everything is deployed."""
        kube = self.cluster.kube
        kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        takes = {"database": {"mariadb": {"values": {"takes": True}}}}
        spec = {
            **SPEC,
            "volumes": self.setting.volumes,
            **({"services": takes} if self.setting.takes else {}),
        }
        self.make_osdpl(spec)
        self.start_pod("controller-1")
        self.pass_time(5.0)
        for _ in range(8):
            self.run()
            self.pass_time(10.0)
        self.backups.append(self.cluster.back_up())
        self.tell("the region is deployed")

    def make_osdpl(self, spec: Mapping[str, Any]) -> None:
        body = {"apiVersion": OSDPL.api_version, "kind": OSDPL.kind, "spec": dict(spec)}
        self.cluster.kube.create({**body, "metadata": {"name": NAME, "namespace": NAMESPACE}})
        self.cluster.note_wishes()

    def start_pod(self, pod: str = "") -> str:
        if not pod:
            self._pods += 1
            pod = f"controller-{self._pods}"
        self.containers += [Container(self, kind, pod) for kind in KINDS]
        return pod

    def set_clock(self, pod: str, by: float) -> None:
        """How wrong the clock of a pod's node is from now on."""
        self.clocks[pod] = by
        for one in self.containers:
            if one.pod == pod:
                one.clock.offset = self.setting.clock + by

    # -- what is reported

    def tell(self, text: str) -> None:
        self.story.append(f"{self.time.seconds:7.0f}  {'  ' * self.depth}{text}")

    def tell_error(self, container: Container, key: Key, error: ControllerError) -> None:
        self.tell(f"{container.name}: a pass at {' '.join(key)} ends: {str(error)[:200]}")

    def took_over(self, container: Container) -> None:
        """A container has its Lease: whoever had it before must not act any more."""
        for other in self.of_kind(container.kind):
            if other is not container and other.held and other.alive:
                other.in_flight = max(other.in_flight, 1 if other.standing else 0)
                other.overtaken = True
                self.met["another takes over"] += 1
                self.tell(f"{container.name} takes over from {other.name}")

    def of_kind(self, kind: str) -> list[Container]:
        return [one for one in self.containers if one.kind == kind]

    # -- time

    def pass_time(self, seconds: float) -> None:
        end = self.time.seconds + seconds
        while self.time.seconds < end:
            self.time.seconds = min(end, self.time.seconds + SLICE)
            self._bring_back()
            self.cluster.tick()
            for one in list(self.containers):
                one.renew()

    def live(self, seconds: float) -> None:
        """Time passes, and containers work."""
        end = self.time.seconds + seconds
        while self.time.seconds < end:
            self.pass_time(min(LOOK, end - self.time.seconds))
            self.run()

    def _bring_back(self) -> None:
        """A person makes the region again once it is gone."""
        if self.osdpl_comes_back is not None and self.cluster.osdpl() is None:
            spec, self.osdpl_comes_back = self.osdpl_comes_back, None
            self.tell("the osdpl is made again")
            self.make_osdpl(spec)

    def run(self, *, but: Container | None = None) -> None:
        """Every container does what is due, and what dies is started again."""
        self.cluster.kube.forget_requests()
        for _ in range(6):
            self._restart()
            busy = [one.run() for one in list(self.containers) if one is not but]
            if not any(busy):
                break
        self._note_credentials()

    def _restart(self) -> None:
        """Kubernetes starts what has ended, in its pod."""
        for one in [one for one in self.containers if not one.alive]:
            self.containers.remove(one)
            again = Container(self, one.kind, one.pod)
            again.cut_off = one.cut_off
            self.containers.append(again)
            again.renew()

    def _note_credentials(self) -> None:
        for secret in self.cluster.all_of("Secret"):
            name = secret["metadata"]["name"]
            if name.endswith("-credentials") and secret["metadata"].get("labels"):
                for key in secret.get("data") or {}:
                    from tests.world.releases.cluster import secret_text

                    self.known[name, key] = secret_text(secret, key)

    # -- between a container and the API server

    def is_away(self, container: Container) -> bool:
        return self.faults.get("API") == "away" or container.cut_off

    def before_call(self, container: Container, words: str, *, write: bool) -> None:
        self._check_alive(container)
        self._meet(container, words, write=write, after=False)
        if not container.alive:
            raise Killed

    def after_call(self, container: Container, words: str) -> None:
        container.stood = 0.0
        self._meet(container, words, write=True, after=True)

    def _check_alive(self, container: Container) -> None:
        """Its fence ends it once its Lease may be another's."""
        if container.alive and container.lease.lost():
            container.ends("has lost its Lease")
        if not container.alive:
            raise Killed

    def _meet(self, container: Container, words: str, *, write: bool, after: bool) -> None:
        if self.depth > 1:
            return
        for trap in list(self.traps):
            if trap not in self.traps or trap.what == "cut" or trap.kind not in ("", container.kind):
                continue
            if (trap.writes and not write) or (trap.what == "dies after") != after:
                continue
            if trap.left > 0:
                trap.left -= 1
                continue
            self.traps.remove(trap)
            self.met[f"container {trap.what}"] += 1
            if trap.what in ("dies after", "dies before"):
                self.tell(f"{container.name} is killed {trap.what.partition(' ')[2]}: {words}")
                container.alive = False
                raise Killed
            self._interrupt(container, trap, words)

    def _interrupt(self, container: Container, trap: Trap, words: str) -> None:
        self.depth += 1
        if trap.what == "meets another":
            self.tell(f"everybody else works before {container.name} goes on with: {words}")
            self._happen(trap.meanwhile)
            self.run()
        else:
            self.tell(f"{container.name} stands still for {trap.seconds:.0f} s before: {words}")
            container.standing = True
            if trap.what == "stands still, and another takes over":
                self.start_pod()
            self.live(trap.seconds / 2)
            self._happen(trap.meanwhile)
            self.live(trap.seconds / 2)
            container.standing = False
            container.stood += trap.seconds
            # What it was about to send is sent: no Lease can prevent that.
            container.in_flight = 1
        self.depth -= 1
        self.tell(f"{container.name} goes on with: {words}")

    def _happen(self, events: list[Any]) -> None:
        from tests.world.releases.events import happen

        for event in events:
            happen(self, event)

    def cut(self, words: str) -> bool:
        """Whether the answer to what was just done is lost."""
        for trap in list(self.traps):
            if trap.what != "cut":
                continue
            if trap.left > 0:
                trap.left -= 1
                continue
            self.traps.remove(trap)
            self.met["answer lost"] += 1
            self.tell(f"the answer is lost: {words}")
            return True
        return False

    def await_hook(
        self, container: Container, hook: KubeObject, timeout: float, token: CancellationToken
    ) -> str:
        """How a Job ends that Helm waits for; the world goes on meanwhile."""
        name, cluster = hook["metadata"]["name"], self.cluster
        end = self.time.seconds + timeout
        failing = False
        events, self.meanwhile = self.meanwhile, []
        while True:
            self._check_alive(container)
            outcome = cluster.job_outcome(name)
            if outcome:
                late = self.time.seconds >= end
                return "Succeeded" if outcome == "Complete" else "TimedOut" if late else "Failed"
            if (token.cancelled or self.time.seconds >= end) and not failing:
                failing = True
                patch = {"spec": {"activeDeadlineSeconds": 1}}
                try:
                    container.kube.merge_patch(JOB, name, NAMESPACE, patch)
                except KubeError:
                    failing = False
            if self.time.seconds >= end + 90.0:
                return "TimedOut"
            self.pass_time(SLICE)
            if self.depth <= 3:
                self.depth += 1
                self._happen(events)
                events = []
                self.run()
                self.depth -= 1

    # -- what is checked at the writes of our containers

    def watch_writer(self, container: Container, words: str) -> None:
        """Whether another of its kind has taken over: then at most what was being sent is sent."""
        if not container.overtaken:
            return
        if container.in_flight <= 0:
            raise Violated(TWO, f"{container.name} does: {words}, while another holds its Lease")
        container.in_flight -= 1
        self.met["a request of one that was overtaken"] += 1

    def watch_written(self, container: Container, identity: Identity, words: str) -> None:
        stored = self.cluster.kube._objects.get(identity)
        live = stored.obj if stored is not None else None
        looked = container.helm_looked
        by_helm = looked is not None and identity[1] != HELMBUNDLE.kind
        if by_helm and self.cluster.foreign.overtaken(identity, looked or 0):
            self.met["Helm overtakes a person"] += 1
        self.cluster.foreign.check(identity, live, f"{container.name} ({words})")
        if identity[1] in ("PersistentVolumeClaim", "StatefulSet"):
            self.cluster.check_claims(container.stood)
        keys_go = identity[1] == "Secret" and identity[3] == "keystone-keys" and live is None
        if keys_go and not self.cluster.may_delete_volumes(container.stood):
            raise Violated(CREDENTIALS, f"{container.name} deletes keys of data that stay: {words}")
        if identity[1] == "HelmBundle" and container.kind == "core" and live is not None:
            told = live["spec"].get("volumes")
            if told == "Delete" and not self.cluster.may_delete_volumes(container.stood):
                raise Violated(DATA, f"{container.name} tells a bundle to delete volumes: {words}")
            self.cluster.note_wishes()

    def check(self) -> None:
        """After every event."""
        cluster = self.cluster
        for identity in list(cluster.foreign.objects):
            stored = cluster.kube._objects.get(identity)
            cluster.foreign.check(identity, stored.obj if stored else None, "somebody")
        cluster.check_claims()


__all__ = ["Setting", "Trap", "World"]
