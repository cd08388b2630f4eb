"""A region that is upgraded: core's own code on an API server in memory. helmbundle, health, kubelets and
persons are played. What must never happen raises `Violated` the moment it does."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.conditions import Condition, entries, find, is_true
from controller.domain.api.names import (
    CLOUDS_KEY,
    CLOUDS_SECRET,
    RECONCILE_ANNOTATION,
    SERVICE_LABEL,
    UPGRADE_SMOKE_LABEL,
    UPGRADE_STEP_ANNOTATION,
)
from controller.domain.api.reasons import Reason
from controller.domain.region.upgrade.node_choice import MOST_SECONDS
from controller.domain.region.upgrade.upgrade_state import StepState, Upgrade, upgrade_in
from controller.domain.releases.bundle_facts import bundle_mark, marks_digest
from controller.domain.shared.times import seconds_of
from controller.errors import Conflict
from controller.ports.kubernetes import DAEMONSET, HELMBUNDLE, JOB, OSDPL, POD, KubeObject
from controller.reconcile.region.deployment import DeploymentReconciler
from controller.reconcile.region.parts import RegionPorts, RegionSettings
from tests.fakes.kube import FakeKube, Request
from tests.fakes.world import FakeClock
from tests.reconcile.watched import DEFINITIONS
from tests.world.truth import Violated
from tests.world.upgrades.small_region import CHARTS, IMAGES, LATE, NAME, NAMESPACE, NEW, OLD, STEPS, render

KEY = (NAMESPACE, NAME)
COMPUTES = tuple(f"node-{number}" for number in range(5))
ZONE = "topology.kubernetes.io/zone"
# The last node has none, and the zones do not go by the names of their nodes.
ZONES = {"node-0": "west", "node-1": "east", "node-2": "west", "node-3": "east"}
# The chart of each DaemonSet.
DAEMON_SETS = {"libvirt": "libvirt", "nova-compute": "nova", "neutron-dhcp": "neutron"}
SERVICE_OF = {chart: service for service, charts in CHARTS.items() for chart in charts}
GENERATION = "deprecated.daemonset.template.generation"


class Killed(BaseException):
    """The process of core is gone, between two of its calls."""


@dataclass(frozen=True)
class Setting:
    """What a sequence is about from its beginning on. `batch` nodes at once, `most_failed` may fail; `zones`:
    one zone of nodes after the other. `smoke`: the service of each step is used before the next one."""

    batch: int = 2
    most_failed: int = 0
    manual: bool = False
    smoke: bool = False
    zones: bool = False


class Quiet:
    """Events that no one reads."""

    def emit(
        self, obj: Mapping[str, Any], *, type_: str, reason: str, message: str, logged: bool = False
    ) -> None:
        """Does nothing."""


class World:
    """One region. `story` tells what happened, `met` counts it."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.clock = FakeClock()
        self.kube = FakeKube(clock=self.clock, shares=True)
        for definition in DEFINITIONS:
            self.kube.serve(definition)
        self.story: list[str] = []
        self.met: Counter[str] = Counter()
        self.dies_at = -1
        self.conflicts = 0
        self.sick: set[str] = set()
        self.failing: set[str] = set()
        self.broken: set[str] = set()
        self.mute: set[str] = set()
        self.before: dict[str, dict[str, str]] = {}
        self.kube.before_write = self._before_write
        self.kube.after_write = self._after_write
        self._ours = False
        self._last: Upgrade | None = None
        self._generations: dict[str, int] = {}
        self._templates: dict[str, str] = {}

    def tell(self, text: str) -> None:
        self.story.append(text)

    # -- the beginning

    def begin(self) -> None:
        """A region that runs OLD, healthy."""
        body = {
            "apiVersion": OSDPL.api_version,
            "kind": OSDPL.kind,
            "metadata": {"name": NAME, "namespace": NAMESPACE},
            "spec": {
                "openstackVersion": OLD,
                "preset": "core",
                "size": "single",
                "publicDomainName": "example.org",
                "upgrade": {
                    "gates": self._gates(),
                    "computes": {
                        "batch": self.setting.batch,
                        "maxFailed": self.setting.most_failed,
                        **({"byLabel": ZONE} if self.setting.zones else {}),
                    },
                },
            },
        }
        for node in COMPUTES:
            labels = {ZONE: ZONES[node]} if node in ZONES else {}
            self.kube.create(
                {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node, "labels": labels}}
            )
        self.kube.create(body)
        meta = {"name": CLOUDS_SECRET, "namespace": NAMESPACE}
        self.kube.create(
            {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": {CLOUDS_KEY: "e30="}}
        )
        for _ in range(4):
            self.core()
            self.settle()
        if self.osdpl()["status"].get("openstackVersion") != OLD:
            raise AssertionError(f"the region does not begin: {self.osdpl()['status']}")
        self.before = self.tags()

    def _gates(self) -> str:
        if self.setting.manual:
            return "Manual"
        return "Smoke" if self.setting.smoke else "Health"

    # -- what is there

    def osdpl(self) -> KubeObject:
        found: KubeObject | None = self.kube.get(OSDPL, NAME, NAMESPACE)
        assert found is not None
        return found

    def upgrade(self) -> Upgrade | None:
        return upgrade_in(self.osdpl().get("status") or {})

    def bundles(self) -> list[KubeObject]:
        return list(self.kube.list(HELMBUNDLE, NAMESPACE))

    def tags(self) -> dict[str, dict[str, str]]:
        """The versions of the images of each chart that the bundles ask for."""
        return {
            str(release["name"]): {
                name: str(tag).rpartition(":")[2] for name, tag in release["values"]["images"]["tags"].items()
            }
            for bundle in self.bundles()
            for release in bundle["spec"].get("releases") or ()
        }

    # -- core

    def core(self) -> None:
        """One pass of a process that knows nothing; it may be killed in it."""
        process = DeploymentReconciler(
            RegionPorts(kube=self.kube, clock=self.clock, events=Quiet(), charts=_NoCharts()),
            RegionSettings(containers=("core", "helmbundle", "health"), version="0.1.0", resync=300),
            render=render,
        )
        self._ours = True
        try:
            process.reconcile(KEY)
        except Killed:
            self.met["core is killed"] += 1
        except Conflict:
            self.met["conflict"] += 1
        finally:
            self._ours = False
            self.dies_at = -1

    def _before_write(self, request: Request) -> None:
        if self._ours and not request.dry_run:
            self._die_or_count(f"before {request.verb} {request.kind}")
            if request.kind == "Pod" and request.verb == "delete":
                self._judge_deletion(request.name)
            if self.conflicts and request.kind == "OpenStackDeployment":
                self.conflicts -= 1
                raise Conflict("another client was faster")

    def _after_write(self, request: Request) -> None:
        if not self._ours or request.dry_run:
            return
        if request.kind == "HelmBundle":
            self._judge_bundles()
        if request.kind == "Job" and request.verb == "create":
            self._judge_job(request.name)
        if request.kind == "OpenStackDeployment":
            self._judge_status()
        self._die_or_count(f"after {request.verb} {request.kind}")

    def _die_or_count(self, where: str) -> None:
        if self.dies_at == 0:
            self.dies_at = -1
            self.tell(f"core is killed {where}")
            raise Killed
        self.dies_at -= self.dies_at > 0

    # -- what must never happen

    def _judge_bundles(self) -> None:
        """Each image is of the version that the recorded steps allow."""
        upgrade, now = self.upgrade(), self.tags()
        for chart, tags in now.items():
            for name, version in tags.items():
                if chart == "mariadb":
                    continue
                step = self._step_of(chart, name)
                allowed = self._allowed(upgrade, step)
                if version not in allowed:
                    text = f"{name} of {chart} becomes {version} while {step} may have {sorted(allowed)}"
                    raise Violated("order of an upgrade", text)

    def _allowed(self, upgrade: Upgrade | None, step: str) -> set[str]:
        wanted = self.osdpl()["spec"]["openstackVersion"]
        if upgrade is None or upgrade.over:
            running = str((self.osdpl().get("status") or {}).get("openstackVersion") or wanted)
            return {wanted, running, *((upgrade.source, upgrade.target) if upgrade else ())}
        states = {one.name: one.state for one in upgrade.steps}
        if states[step] == StepState.PENDING:
            return {upgrade.source}
        # An edit back before the point of no return takes back what has begun.
        back = wanted == upgrade.source and not upgrade.point_of_no_return
        return {upgrade.target, upgrade.source} if back else {upgrade.target, *self._not_written(step)}

    def _not_written(self, step: str) -> set[str]:
        """A step that has just begun has its former images until its bundle is written."""
        upgrade = self.upgrade()
        current = upgrade.current if upgrade else None
        return {upgrade.source} if upgrade and current and current.name == step else set()

    def _step_of(self, chart: str, image: str) -> str:
        own = [step for step in STEPS if chart in step.about.charts]
        return own[-1].name if (chart, image) in LATE else own[0].name

    def _judge_status(self) -> None:
        """Steps are made in their order, none twice, and none beyond a failed one."""
        now, before = self.upgrade(), self._last
        self._last = now
        if now is None:
            if before is not None:
                raise Violated("memory of an upgrade", "status.upgrade is gone")
            return
        begun = [one.state != StepState.PENDING for one in now.steps]
        if sorted(begun, reverse=True) != begun:
            raise Violated("order of an upgrade", f"a later step has begun before: {now.steps}")
        if sum(one.state in (StepState.RUNNING, StepState.FAILED) for one in now.steps) > 1:
            raise Violated("one step at a time", str(now.steps))
        if before is None or before.over or before.started != now.started:
            return
        for old, new in zip(before.steps, now.steps, strict=True):
            if old.state == StepState.DONE and new.state != StepState.DONE:
                raise Violated("a step done twice", new.name)
            if old.state != StepState.DONE and new.state == StepState.DONE:
                self._judge_done(new.name, unchanged=new.message == "no change")
        if before.point_of_no_return and not now.point_of_no_return:
            raise Violated("point of no return", "it is forgotten")

    def _judge_done(self, name: str, *, unchanged: bool) -> None:
        step = next(one for one in STEPS if one.name == name)
        if unchanged:
            return
        self._judge_smoke(name)
        for bundle in self.bundles():
            if bundle["metadata"]["name"] != step.service:
                continue
            status = bundle.get("status") or {}
            if status.get("observedGeneration") != bundle["metadata"]["generation"]:
                raise Violated("gate", f"{name} is done, and helmbundle has not begun")
            for release in status.get("releases") or ():
                if release["name"] in step.about.charts and release["state"] != "Deployed":
                    raise Violated("gate", f"{name} is done, and {release['name']} is {release['state']}")
        if step.about.by_node and any(self._is_outdated(pod) for pod in self._pods(step.about.charts)):
            raise Violated("gate", f"{name} is done, and pods are outdated")
        if self.sick & set(step.about.charts):
            health = (self.osdpl().get("status") or {}).get("health") or {}
            told = [c for c in step.about.charts if "Unhealthy" in str(health.get(c))]
            if told:
                raise Violated("gate", f"{name} is done, and {told} are not healthy")

    def _judge_deletion(self, name: str) -> None:
        """Pods go on so many nodes at once as the batch says, and on no other ones after failures."""
        pod = self.kube.get(POD, name, NAMESPACE)
        if pod is None:
            return
        node = pod["spec"]["nodeName"]
        upgrade = self.upgrade()
        current = upgrade.current if upgrade else None
        step = next((one for one in STEPS if current and one.name == current.name), None)
        if step is None or not step.about.by_node or not self._is_outdated(pod):
            raise Violated("pods of nodes", f"{name} is deleted, and no step replaces it")
        pods = self._pods(step.about.charts)
        broken = {p["spec"]["nodeName"] for p in pods if _state(p) == "broken" or self._is_overdue(p)}
        if node in {p["spec"]["nodeName"] for p in pods if _state(p) != "ready"}:
            return  # It is down already, and takes the place of no node that serves.
        if len(broken) > self.setting.most_failed:
            raise Violated("failed nodes", f"{name} is deleted, and {sorted(broken)} failed")
        moving = (
            {p["spec"]["nodeName"] for p in pods if _state(p) == "starting"} | self._missing(step) | {node}
        )
        if len(moving - broken) > self.setting.batch:
            raise Violated("batch of nodes", f"{sorted(moving)} at once")
        if self.setting.zones:
            self._judge_zones(
                node, moving, broken, {p["spec"]["nodeName"] for p in pods if self._is_outdated(p)}
            )

    def _judge_zones(self, node: str, moving: set[str], broken: set[str], outdated: set[str]) -> None:
        """One zone goes after the other, and nodes without one are last."""
        zones = {one: ZONES.get(one, "~") for one in COMPUTES}
        beside = {one for one in moving - broken if zones[one] != zones[node]}
        before = {one for one in outdated - broken if zones[one] < zones[node]}
        if beside or before:
            raise Violated("zones of nodes", f"{node} begins while {sorted(beside | before)} are not done")

    def _judge_smoke(self, name: str) -> None:
        """A step is done only after a check that passed, of what has been healthy since then."""
        if self.osdpl()["spec"]["upgrade"].get("gates") != "Smoke":
            return
        passed = [
            job
            for job in self.smokes(name)
            if is_true((job.get("status") or {}).get("conditions") or [], "Complete")
        ]
        if not passed:
            raise Violated("smoke", f"{name} is done without a check that passed")

    def _judge_job(self, name: str) -> None:
        """A check runs after the health of its step only, and one at a time for the same request."""
        job = self.kube.get(JOB, name, NAMESPACE)
        if job is None or UPGRADE_SMOKE_LABEL not in (job["metadata"].get("labels") or {}):
            return
        upgrade = self.upgrade()
        current = upgrade.current if upgrade else None
        step = job["metadata"]["labels"][UPGRADE_SMOKE_LABEL].replace(".", "/")
        if current is None or current.name != step or not current.begun or not current.healthy_since:
            raise Violated("smoke", f"{name} is made for {step}, and the present step is {current}")
        self.met["smoke"] += 1

    def smokes(self, step: str = "") -> list[KubeObject]:
        """The Jobs that use a service."""
        label = f"{UPGRADE_SMOKE_LABEL}={step.replace('/', '.')}" if step else UPGRADE_SMOKE_LABEL
        return list(self.kube.list(JOB, NAMESPACE, labels=label))

    def end_smokes(self) -> None:
        """The Jobs that use services end: with success, unless services do not serve."""
        for job in self.smokes():
            if (job.get("status") or {}).get("conditions"):
                continue
            service = job["metadata"]["labels"][SERVICE_LABEL]
            ended = "Failed" if service in self.mute else "Complete"
            condition = {"type": ended, "status": "True", "reason": "BackoffLimitExceeded"}
            body = {"status": {"conditions": [condition]}}
            self.kube.merge_patch(JOB, job["metadata"]["name"], NAMESPACE, body, subresource="status")

    # -- helmbundle, health, kubelets

    def deploy(self, name: str) -> None:
        """helmbundle deploys what a bundle asks for, or fails."""
        bundle = self.kube.get(HELMBUNDLE, name, NAMESPACE)
        if bundle is None or bundle["spec"].get("mode") != "Apply":
            return
        state = "Failed" if name in self.failing else "Deployed"
        generation = bundle["metadata"]["generation"]
        reason = Reason.RELEASES_FAILING if state == "Failed" else Reason.RELEASES_DEPLOYED
        ready = Condition(
            "Ready", "False" if state == "Failed" else "True", reason, f"{name} {state}", generation
        )
        old = bundle.get("status") or {}
        releases = [
            {
                "name": one["name"],
                "namespace": NAMESPACE,
                "state": state,
                "reason": state,
                "revision": generation,
            }
            for one in bundle["spec"]["releases"]
        ]
        body = {
            "observedGeneration": generation,
            "releases": releases,
            "conditions": entries([ready], old.get("conditions") or (), self.clock.now()),
        }
        self._status(bundle, body, "osctl-helmbundle")
        if state == "Deployed":
            for release in bundle["spec"]["releases"]:
                self._roll_daemon_sets(release)
        self._children()

    def _children(self) -> None:
        bundles = self.bundles()
        done = all(
            find((b.get("status") or {}).get("conditions") or [], "Ready").get("status") == "True"
            for b in bundles
        )
        reason = Reason.RELEASES_DEPLOYED if done else Reason.RELEASES_PENDING
        osdpl = self.osdpl()
        generation = int((osdpl.get("status") or {}).get("appliedGeneration") or 0)
        if not generation:
            return
        condition = Condition("ReleasesReady", "True" if done else "False", reason, "", generation)
        self._report(condition, "osctl-helmbundle", {})

    def health(self) -> None:
        """health looks at all workloads."""
        bundles = self.bundles()
        generation = int((self.osdpl().get("status") or {}).get("appliedGeneration") or 0)
        if not generation:
            return
        told = {
            chart: {
                "api": {"status": "Unhealthy" if chart in self.sick else "Ready", "ready": 1, "desired": 1}
            }
            for chart in IMAGES
        }
        reason = Reason.WORKLOADS_FAILING if self.sick else Reason.WORKLOADS_HEALTHY
        condition = Condition("WorkloadsHealthy", "False" if self.sick else "True", reason, "", generation)
        mark = marks_digest(bundle_mark(bundle) for bundle in bundles)
        self._report(condition, "osctl-health", {"health": told, "healthOf": mark})

    def _report(self, condition: Condition, manager: str, fields: Mapping[str, Any]) -> None:
        osdpl = self.osdpl()
        known = (osdpl.get("status") or {}).get("conditions") or []
        self._status(osdpl, {**fields, "conditions": entries([condition], known, self.clock.now())}, manager)

    def _status(self, obj: KubeObject, status: Mapping[str, Any], manager: str) -> None:
        if self._is_reported(obj.get("status") or {}, status):
            return
        meta = {key: obj["metadata"][key] for key in ("name", "namespace")}
        body = {
            "apiVersion": obj["apiVersion"],
            "kind": obj["kind"],
            "metadata": meta,
            "status": dict(status),
        }
        self.kube.apply(body, manager=manager, subresource="status")

    @staticmethod
    def _is_reported(there: Mapping[str, Any], status: Mapping[str, Any]) -> bool:
        known = there.get("conditions") or []
        return all(
            all(one in known for one in part) if name == "conditions" else there.get(name) == part
            for name, part in status.items()
        )

    def _roll_daemon_sets(self, release: Mapping[str, Any]) -> None:
        """The DaemonSets of a release get their template; with RollingUpdate their pods follow."""
        for name, chart in DAEMON_SETS.items():
            if chart != release["name"]:
                continue
            template = _template(chart, release["values"])
            lifecycle = release["values"].get("pod") or {}
            on_delete = "OnDelete" in str(lifecycle)
            if self._templates.get(name) != template:
                self._templates[name] = template
                self._generations[name] = self._generations.get(name, 0) + 1
            self._put_daemon_set(name, chart)
            for node in COMPUTES:
                pod = self.kube.get(POD, f"{name}-{node}", NAMESPACE)
                if pod is None or (not on_delete and self._is_outdated(pod)):
                    self._put_pod(name, node, ready=True)

    def _put_daemon_set(self, name: str, chart: str) -> None:
        notes = {"meta.helm.sh/release-name": chart, GENERATION: str(self._generations[name])}
        there = self.kube.get(DAEMONSET, name, NAMESPACE)
        if there is None:
            meta = {"name": name, "namespace": NAMESPACE, "annotations": notes}
            there = self.kube.create(
                {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": meta, "spec": {}}
            )
            status = {"desiredNumberScheduled": len(COMPUTES)}
            self.kube.replace({**there, "status": status}, subresource="status")
        else:
            self.kube.merge_patch(DAEMONSET, name, NAMESPACE, {"metadata": {"annotations": notes}})

    def _put_pod(self, name: str, node: str, *, ready: bool, broken: bool = False) -> None:
        pod = f"{name}-{node}"
        if self.kube.get(POD, pod, NAMESPACE) is not None:
            self.kube.delete(POD, pod, NAMESPACE)
        owner = self.kube.get(DAEMONSET, name, NAMESPACE)
        assert owner is not None
        reference = {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "name": name,
            "uid": owner["metadata"]["uid"],
            "controller": True,
        }
        waiting = {"state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}
        meta = {
            "name": pod,
            "namespace": NAMESPACE,
            "labels": {"pod-template-generation": str(self._generations[name])},
            "ownerReferences": [reference],
        }
        spec = {"nodeName": node, "containers": [{"name": "main", "image": "x"}]}
        live = self.kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
        status = {
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
            "containerStatuses": [{"name": "main", **waiting}] if broken else [],
        }
        self.kube.replace({**live, "status": status}, subresource="status")

    def kubelets(self, nodes: int) -> None:
        """Missing pods of so many nodes are made, and starting ones become Ready."""
        for node in COMPUTES[:nodes]:
            for name in DAEMON_SETS:
                if name not in self._generations:
                    continue
                pod = self.kube.get(POD, f"{name}-{node}", NAMESPACE)
                if pod is None:
                    broken = node in self.broken
                    self._put_pod(name, node, ready=False, broken=broken)
                elif _state(pod) in ("starting", "broken") and node not in self.broken:
                    self._put_pod(name, node, ready=True)

    def _pods(self, charts: tuple[str, ...]) -> list[KubeObject]:
        names = tuple(f"{name}-node" for name, chart in DAEMON_SETS.items() if chart in charts)
        return [pod for pod in self.kube.list(POD, NAMESPACE) if pod["metadata"]["name"].startswith(names)]

    def _missing(self, step: Any) -> set[str]:
        there = {pod["metadata"]["name"] for pod in self._pods(step.about.charts)}
        names = [name for name, chart in DAEMON_SETS.items() if chart in step.about.charts]
        return {node for node in COMPUTES for name in names if f"{name}-{node}" not in there}

    def _is_overdue(self, pod: KubeObject) -> bool:
        """Whether a pod starts for so long that its node has failed."""
        age = self.clock.now() - seconds_of(pod["metadata"]["creationTimestamp"])
        return _state(pod) == "starting" and age > MOST_SECONDS

    def _is_outdated(self, pod: KubeObject) -> bool:
        name = pod["metadata"]["name"].rpartition("-node")[0]
        return bool(pod["metadata"]["labels"]["pod-template-generation"] != str(self._generations[name]))

    # -- persons and time

    def edit(self, **spec: Any) -> None:
        assert self.kube.merge_patch(OSDPL, NAME, NAMESPACE, {"spec": copy.deepcopy(spec)})

    def allow(self) -> None:
        """A person allows the step that waits."""
        upgrade = self.upgrade()
        current = upgrade.current if upgrade else None
        if upgrade is not None and current is not None:
            notes = {UPGRADE_STEP_ANNOTATION: upgrade.permission(current.name)}
            assert self.kube.merge_patch(OSDPL, NAME, NAMESPACE, {"metadata": {"annotations": notes}})

    def request(self) -> None:
        """A person asks for all to be looked at again."""
        notes = {RECONCILE_ANNOTATION: str(self.clock.now())}
        assert self.kube.merge_patch(OSDPL, NAME, NAMESPACE, {"metadata": {"annotations": notes}})

    def settle(self) -> None:
        """Everyone but core does what there is to do."""
        for bundle in self.bundles():
            self.deploy(bundle["metadata"]["name"])
        self.kubelets(len(COMPUTES))
        self.kubelets(len(COMPUTES))
        self.end_smokes()
        self.health()


class _NoCharts:
    """No chart is asked for without mode Plan."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"charts.{name} is asked for")


def _template(chart: str, values: Mapping[str, Any]) -> str:
    """What the pods of a chart's DaemonSet are made from: its image, and the configuration."""
    late = [name for where, name in sorted(LATE) if where == chart] or list(IMAGES[chart])
    tags = values["images"]["tags"]
    # Both chart sources restart pods by a digest of the configuration, which changes with the version.
    return str(([tags[name] for name in late], values["debug"], sorted(tags.items())[:1]))


def _state(pod: KubeObject) -> str:
    status = pod.get("status") or {}
    if find(status.get("conditions") or [], "Ready").get("status") == "True":
        return "ready"
    return "broken" if any(one.get("state") for one in status.get("containerStatuses") or ()) else "starting"


WANTED = (OLD, NEW)
