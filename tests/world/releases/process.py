"""Containers as processes: the reconcilers of production with their queue and Lease, on a link that breaks.

Each call goes through the world first. There a container is killed between any two writes, stands still, or
meets another one. What production does on threads of its own is done here after the pass that began it.
"""

from __future__ import annotations

from _thread import LockType
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from containers.region_events import AFTER_REPORTS
from controller.adapters.helm.records.release_records import SecretRecords
from controller.domain.releases.hooks import parse_hook_job
from controller.errors import ControllerError
from controller.ports.kubernetes import HELMBUNDLE, JOB, OSDPL, KubeObject
from controller.reconcile.credentials.region_pass import RegionNeeds, SecretsPorts
from controller.reconcile.credentials.secrets import SecretsReconciler
from controller.reconcile.credentials.step_list import credential_steps
from controller.reconcile.region.deployment import DeploymentReconciler
from controller.reconcile.region.parts import RegionPorts, RegionSettings
from controller.reconcile.releases.action_request import ActionOutcome, RunningAction
from controller.reconcile.releases.action_slots import ActionSlots
from controller.reconcile.releases.bundle import BundleReconciler
from controller.reconcile.releases.children_status import ChildrenReporter
from controller.reconcile.releases.drift.watch import DriftWatch
from controller.reconcile.releases.events.bundle_event_filter import BundleEventFilter
from controller.reconcile.releases.hooks.progress import HookFollower
from controller.reconcile.releases.parts import BundleListeners, BundleSettings, DriftRates, ReleasePorts
from controller.reconcile.shared.edit_filter import EditFilter
from controller.reconcile.shared.installation_key import InstallationKey
from controller.reconcile.shared.leases.lease import WriterLease, lease_holder, lease_name
from controller.reconcile.shared.object_store import ObjectStore
from controller.render.rendered_region import RenderedRegion
from tests.fakes.option_files import option_files
from tests.fakes.release import FakeWatch
from tests.fakes.stored_helm import StoredHelm
from tests.reconcile.bundles import Charts
from tests.world.clocks import WrongClock
from tests.world.process import Killed
from tests.world.releases.cluster import LeaseStore
from tests.world.releases.link import KubeLink
from tests.world.releases.region import KEY, NAMESPACE, credentials_of, render, rendered
from tests.world.releases.truth import LOOKS_EVERY

if TYPE_CHECKING:
    from tests.world.releases.world import World

CORE, HELMBUNDLES, SECRETS = KINDS = ("core", "helmbundle", "secrets")
RESYNC = LOOKS_EVERY
# After a pass that an error has ended.
ERROR_PAUSE = 3.0
# What is due at once is looked at so often in a row, before time has to pass.
PASSES = 12

Key = tuple[str, str]
Reconcile = Callable[[str], float | None]


class Stopped(BaseException):
    """What must not happen has happened in the middle of an action: nothing may catch it on its way out."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class Silent:
    """No one reads Events here."""

    def emit(self, obj: Mapping[str, Any], **said: Any) -> None:
        """Nothing."""


class WorldSlots(ActionSlots):
    """Actions wait for the end of the pass that began them; then they run one after the other."""

    def __init__(self) -> None:
        super().__init__(8)
        self.begun: list[Callable[[], None]] = []

    def _begin(self, work: Callable[[], None], name: str) -> None:
        self.begun.append(work)

    def start(self, running: RunningAction, work: Callable[[], ActionOutcome], **more: Any) -> bool:
        def seen() -> ActionOutcome:
            try:
                return work()
            except Exception as error:
                # In production the slot tells of it in the log, and the action counts as failed.
                raise Stopped(error) from error

        return super().start(running, seen, **more)


def locks_of(root: object) -> list[LockType]:
    """The locks of an object of the product, and of all that it is made of."""
    found, seen, left = [], set(), [root]
    while left:
        one = left.pop()
        owner = getattr(one, "__self__", one)
        if isinstance(one, LockType):
            found.append(one)
        elif type(owner).__module__.startswith("controller.") and id(owner) not in seen:
            seen.add(id(owner))
            left += list(getattr(owner, "__dict__", {}).values())
    return found


class LookingHelm(StoredHelm):
    """Helm in a container, of which the world knows when it has looked what belongs to others."""

    def __init__(self, container: Container) -> None:
        def await_hook(hook: Any, where: Any, timeout: Any, token: Any) -> Any:
            return container.world.await_hook(container, hook, timeout, token)

        super().__init__(container.kube, container.clock, rendered, await_hook)
        self._container = container

    def _act(self, act: Callable[[], Any]) -> Any:
        try:
            return super()._act(act)
        finally:
            self._container.helm_looked = None

    def _refuse_foreign(self, objects: Sequence[KubeObject], release: str, namespace: str) -> None:
        super()._refuse_foreign(objects, release, namespace)
        self._container.helm_looked = self._container.world.cluster.foreign.noted


class Container:
    """One container of a pod. It knows nothing but what stands in Kubernetes when it begins.

    `blind`: its watches tell it nothing for now. `standing`: no instruction of it runs. `stood`: for how
    long it has stood before the request that it is about to send. `alone`: nothing may interrupt it.
    """

    def __init__(self, world: World, kind: str, pod: str) -> None:
        self.world, self.kind, self.pod = world, kind, pod
        self.alive, self.blind, self.standing, self.held = True, False, False, False
        self.stood = 0.0
        # How many objects of persons there had been when its Helm looked; None while none is at work.
        self.helm_looked: int | None = None
        # Requests that it was about to send when another one took over.
        self.in_flight = 0
        self.overtaken = False
        self.cut_off = False
        self.inside: set[Key] = set()
        self.due: dict[Key, float] = {}
        self.clock = WrongClock(world.time, world.setting.clock + world.clocks.get(pod, 0.0))
        self.kube = KubeLink(world, self)
        self.lease = WriterLease(
            LeaseStore(world.cluster, lambda: world.is_away(self)),  # type: ignore[arg-type]
            self.clock,
            name=lease_name(kind),
            namespace=NAMESPACE,
            holder=lease_holder("openstack-controller", pod),
        )
        self._seen: dict[tuple[str, str], tuple[str, KubeObject]] = {}
        self._stamp = (-1, 0, 0)
        self._edits = EditFilter()
        self.slots = WorldSlots()
        self._locks: list[LockType] = []
        make = {CORE: self._core, HELMBUNDLES: self._helmbundle, SECRETS: self._secrets}
        self._reconcilers: dict[str, Reconcile] = make[kind]()

    @property
    def name(self) -> str:
        return f"{self.kind} of {self.pod}"

    # -- composition, as in containers/

    def _key(self) -> InstallationKey:
        return InstallationKey(self.kube, self.world.randomness, NAMESPACE)

    def _core(self) -> dict[str, Reconcile]:
        charts = Charts()
        region = RenderedRegion(render, charts=charts, clock=self.clock)
        core = DeploymentReconciler(
            RegionPorts(kube=self.kube, clock=self.clock, events=Silent(), charts=charts),
            RegionSettings(containers=KINDS, version="1", resync=RESYNC),
            render=region.of,
        )
        self._locks = locks_of(core)
        return {"region": lambda name: core.reconcile(KEY)}

    def _secrets(self) -> dict[str, Reconcile]:
        ports = SecretsPorts(
            kube=self.kube,
            clock=self.clock,
            randomness=self.world.randomness,
            events=Silent(),
            records=SecretRecords(self.kube, sleep=self.world.pass_time),
            digest_key=self._key().read,
            option_files=option_files(),
        )
        secrets = SecretsReconciler(
            ports,
            lambda osdpl: RegionNeeds(credentials_of(osdpl)),
            credential_steps(ports),
            resync=RESYNC,
        )
        self._locks = locks_of(secrets)
        return {"region": lambda name: secrets.reconcile(KEY)}

    def _helmbundle(self) -> dict[str, Reconcile]:
        world, records = self.world, SecretRecords(self.kube, sleep=self.world.pass_time)
        self._filter = BundleEventFilter()
        self._jobs = ObjectStore(self.kube, self.clock, NAMESPACE, {JOB: parse_hook_job})
        self._watch = FakeWatch(world.cluster.kube)
        drift = DriftWatch(
            kube=self.kube,
            records=records,
            watch=self._watch,
            clock=self.clock,
            reconcile_after=lambda after: self.wake(("drift", ""), after),
            changed_bundle=lambda bundle: self.wake(("bundle", bundle[1])),
            pace=DriftRates(),
        )
        helm = LookingHelm(self)
        bundles = BundleReconciler(
            ReleasePorts(
                kube=self.kube,
                as_charts=self.kube,
                helm=helm,
                records=records,
                charts=Charts(),
                clock=self.clock,
                events=Silent(),
                digest_key=self._key().read,
                option_files=option_files(),
            ),
            BundleSettings(RESYNC),
            BundleListeners(
                requeue=lambda bundle: self.wake(("bundle", bundle[1])),
                note_end=lambda bundle: self.wake(("bundle", bundle[1])),
                learn=lambda texts: None,
            ),
            slots=self.slots,
            hooks=HookFollower(self.kube, records, self.clock, self._jobs),
            drift=drift,
        )
        children = ChildrenReporter(self.kube, self.clock)
        self._locks = locks_of(bundles)
        return {
            "bundle": lambda name: bundles.reconcile((NAMESPACE, name)),
            "drift": lambda name: drift.reconcile(),
            "region": lambda name: children.reconcile(KEY),
        }

    # -- its Lease

    def renew(self) -> None:
        """What its thread does every few seconds; it ends the process where the Lease is lost."""
        if not self.alive or self.standing:
            return
        if self.held and self.lease.lost():
            self.ends("has lost its Lease")
            return
        taken = self.lease.try_take()
        if self.lease.forfeited():
            self.ends("has lost its Lease")
        elif taken and not self.held:
            self.held = True
            self.world.took_over(self)

    def ends(self, why: str) -> None:
        if self.alive:
            self.alive = False
            self.world.tell(f"{self.name} {why}, and ends")

    # -- its queue

    def wake(self, key: Key, after: float = 0.0) -> None:
        due = self.world.time.seconds + after
        self.due[key] = min(due, self.due.get(key, due))

    def run(self) -> bool:
        """What is due now; whether anything was. An error of ours is logged there."""
        if not self.alive or self.standing or not self.held or self._waits_for_itself():
            return False
        done = False
        try:
            for _ in range(PASSES):
                self._watched()
                now = self.world.time.seconds
                keys = sorted(key for key, due in self.due.items() if due <= now and key not in self.inside)
                if not keys and not self.slots.begun:
                    break
                done = True
                for key in keys:
                    self._pass(key)
                while self.slots.begun:
                    self.slots.begun.pop(0)()
        except Killed:
            self.alive = False
        return done

    def _waits_for_itself(self) -> bool:
        """Whether another thread of it would wait now for the one that has been interrupted."""
        return bool(self.world.depth) and any(lock.locked() for lock in self._locks)

    def _pass(self, key: Key) -> None:
        self.due.pop(key, None)
        self.inside.add(key)
        try:
            again = self._reconcilers[key[0]](key[1])
        except ControllerError as error:
            self.world.tell_error(self, key, error)
            again = ERROR_PAUSE
        finally:
            self.inside.discard(key)
        if again is not None:
            self.wake(key, again)

    def _watched(self) -> None:
        """What has changed since is reported, unless its watches are cut."""
        kube = self.world.cluster.kube
        stamp = self.world.cluster.stamp
        if self.blind or stamp == self._stamp:
            return
        self._stamp = stamp
        now = {}
        for identity, stored in kube._objects.items():
            if identity[1] in ("OpenStackDeployment", "HelmBundle", "Job"):
                now[identity[1], identity[3]] = (stored.obj["metadata"]["resourceVersion"], stored.obj)
        for key, (version, obj) in now.items():
            if self._seen.get(key, ("", {}))[0] != version:
                self._told("MODIFIED", key[0], obj)
        for key in self._seen.keys() - now.keys():
            self._told("DELETED", key[0], self._seen[key][1])
        self._seen = now
        if self.kind == HELMBUNDLES:
            self._watch.deliver()

    def _told(self, event: str, kind: str, obj: KubeObject) -> None:
        if kind in ("OpenStackDeployment", "HelmBundle"):
            # As in containers/: core hears of every report at once, the others a little later.
            soon = self.kind == CORE or self._edits.feed(event, obj)
            self.wake(("region", ""), 0.0 if soon else AFTER_REPORTS)
        if kind == "HelmBundle":
            if self.kind == HELMBUNDLES and self._filter.concerns_reconcile(event, obj):
                self.wake(("bundle", obj["metadata"]["name"]))
        elif kind == "Job" and self.kind == HELMBUNDLES and self._jobs.feed(JOB, event, obj):
            for bundle in self.slots.bundles():
                self.wake(("bundle", bundle[1]), 1.0)


__all__ = ["HELMBUNDLE", "HELMBUNDLES", "KINDS", "OSDPL", "Container"]
