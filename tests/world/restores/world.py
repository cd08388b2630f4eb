"""A region that is restored: core's own code on an API server in memory. helmbundle, the controllers of
workloads, the Jobs and persons are played. What must never happen raises `Violated` the moment it does."""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections import Counter
from typing import Any

from controller.domain.api.conditions import Condition, entries, find
from controller.domain.api.names import FORCE_ANNOTATION, RELEASE_NAME, RESTORE_BEFORE_ANNOTATION
from controller.domain.api.reasons import Reason
from controller.domain.backups.manifest import BackupFile, BackupManifest, DatabaseDump, manifest_document
from controller.domain.releases.bundle_facts import bundle_mark, marks_digest
from controller.domain.restores.restore_state import Phase, Restore, Step, StepState, restore_in
from controller.errors import Conflict
from controller.ports.kubernetes import (
    CRONJOB,
    DEPLOYMENT,
    HELMBUNDLE,
    JOB,
    OSDPL,
    POD,
    RESTORE,
    STATEFULSET,
    KubeObject,
    Resource,
)
from controller.reconcile.region.deployment import DeploymentReconciler
from controller.reconcile.region.parts import RegionPorts, RegionSettings
from controller.reconcile.restores.region_restores import RegionRestores
from tests.fakes.kube import FakeKube, Request
from tests.fakes.world import FakeClock
from tests.reconcile.watched import DEFINITIONS
from tests.world.truth import Violated
from tests.world.upgrades.small_region import NAME, NAMESPACE, OLD, render
from tests.world.upgrades.world import Killed, Quiet

KEY = (NAMESPACE, NAME)
RESTORED = "from-yesterday"
BACKUP = "20261126T020000Z-0a1b2c"
# Workloads that write, by kind and name: their release and what they have before.
WRITERS: dict[tuple[str, str], tuple[str, Any]] = {
    ("Deployment", "keystone-api"): ("keystone", 2),
    ("Deployment", "nova-api"): ("nova", 3),
    ("Deployment", "nova-conductor"): ("nova", 0),
    ("StatefulSet", "neutron-server"): ("neutron", 1),
    ("CronJob", "keystone-fernet-rotate"): ("keystone", False),
    ("CronJob", "nova-purge"): ("nova", True),
}
STAYS = ("StatefulSet", "mariadb-server")
KINDS: dict[str, Resource] = {one.kind: one for one in (DEPLOYMENT, STATEFULSET, CRONJOB)}
DUMP = b"CREATE TABLE t (i INT);"


def printed(*, region: str = NAME, version: str = OLD, damaged: bool = False) -> str:
    """What the Job of the check prints."""
    digest = hashlib.sha256(DUMP).hexdigest()
    manifest = BackupManifest(
        id=BACKUP,
        namespace=NAMESPACE,
        region=region,
        created="2026-11-26T02:00:00Z",
        controller_version="0.1.0",
        openstack_version=version,
        server_version="11.4.3-MariaDB",
        databases=(DatabaseDump("keystone", "databases/keystone.sql", len(DUMP), {"t": 0}),),
        files=(BackupFile("databases/keystone.sql", len(DUMP), digest),),
    )
    size = len(DUMP) - 1 if damaged else len(DUMP)
    text = f"server 11.4.3-MariaDB\n{digest} {size} ./databases/keystone.sql\nmanifest\n".encode()
    return base64.b64encode(gzip.compress(text + manifest_document(manifest))).decode()


class World:
    """One region. `story` tells what happened, `met` counts it. `loaded`: how many Jobs have loaded."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.kube = FakeKube(clock=self.clock, shares=True)
        for definition in DEFINITIONS:
            self.kube.serve(definition)
        self.kube.pod_log = self._pod_log  # type: ignore[method-assign]
        self.story: list[str] = []
        self.met: Counter[str] = Counter()
        self.dies_at = -1
        self.job_fails = False
        self.output = printed()
        self.said = "the server has gone away"
        self.loaded = 0
        self.kube.before_write = self._before_write
        self.kube.after_write = self._after_write
        self._ours = False
        self._steps: dict[str, list[StepState]] = {}

    def tell(self, text: str) -> None:
        self.story.append(text)

    # -- the beginning

    def begin(self) -> None:
        """A region that runs, healthy."""
        spec = {"openstackVersion": OLD, "preset": "core", "size": "single"}
        self._create(OSDPL, NAME, {**spec, "publicDomainName": "example.org"})
        for _ in range(4):
            self.region()
            self.others()
        for (kind, name), (release, before) in WRITERS.items():
            self._workload(kind, name, release, before)
        self._workload(*STAYS, "mariadb", 1)
        self.others()
        if find(self.osdpl()["status"]["conditions"], "Ready")["status"] != "True":
            raise AssertionError(f"the region does not begin: {self.osdpl()['status']}")

    def ask(self, name: str = RESTORED) -> None:
        """A person asks for a restore."""
        if self.kube.get(RESTORE, name, NAMESPACE) is None:
            self._create(RESTORE, name, {"region": NAME, "backup": "latest", "from": {"secret": "restic"}})

    def take_back(self) -> None:
        """A person deletes the restore."""
        self.kube.delete(RESTORE, RESTORED, NAMESPACE)

    def _create(self, resource: Resource, name: str, spec: dict[str, Any]) -> None:
        meta = {"name": name, "namespace": NAMESPACE}
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta, "spec": spec}
        self.kube.create(body)

    def _workload(self, kind: str, name: str, release: str, before: Any) -> None:
        resource = KINDS[kind]
        container = {"name": "mariadb", "image": "example.org/mariadb:11.4"}
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
        spec: dict[str, Any] = {"replicas": before, "template": template}
        if kind == "CronJob":
            spec = {"suspend": before, "jobTemplate": {"spec": {"template": template}}}
        meta = {"name": name, "namespace": NAMESPACE, "annotations": {RELEASE_NAME: release}}
        self.kube.create({"apiVersion": resource.api_version, "kind": kind, "metadata": meta, "spec": spec})

    # -- what is there

    def osdpl(self) -> KubeObject:
        found = self.kube.get(OSDPL, NAME, NAMESPACE)
        assert found is not None
        return found

    def restore(self) -> Restore | None:
        obj = self.kube.get(RESTORE, RESTORED, NAMESPACE)
        return restore_in(obj.get("status") or {}) if obj else None

    def bundles(self) -> list[KubeObject]:
        return list(self.kube.list(HELMBUNDLE, NAMESPACE))

    def writer(self, kind: str, name: str) -> KubeObject:
        found = self.kube.get(KINDS[kind], name, NAMESPACE)
        assert found is not None
        return found

    def writing(self) -> list[str]:
        """The workloads that write now, or will by themselves."""
        found = []
        for kind, name in WRITERS:
            obj = self.writer(kind, name)
            pods = int((obj.get("status") or {}).get("replicas") or 0)
            if (not obj["spec"]["suspend"]) if kind == "CronJob" else (obj["spec"]["replicas"] or pods):
                found.append(name)
        return found

    # -- core

    def region(self) -> None:
        """One pass at the region, of a process that knows nothing; it may be killed in it."""
        ports = RegionPorts(kube=self.kube, clock=self.clock, events=Quiet(), charts=object())  # type: ignore[arg-type]
        settings = RegionSettings(containers=("core", "helmbundle", "health"), version="0.1.0", resync=300)
        self._process(lambda: DeploymentReconciler(ports, settings, render=render).reconcile(KEY))

    def core(self, name: str = RESTORED) -> None:
        """One pass at the restore."""
        restores = RegionRestores(self.kube, self.clock, Quiet())
        self._process(lambda: restores.reconcile((NAMESPACE, name)))

    def _process(self, work: Any) -> None:
        self._ours = True
        try:
            work()
        except Killed:
            self.met["core is killed"] += 1
        except Conflict:
            self.met["conflict"] += 1
        finally:
            self._ours = False
            self.dies_at = -1

    def _before_write(self, request: Request) -> None:
        if not self._ours or request.dry_run:
            return
        self._die_or_count(f"before {request.verb} {request.kind} {request.name}")
        restore = self.restore()
        if request.kind == "HelmBundle" and restore and restore.holds:
            self.met["bundle written while held"] += 1

    def _after_write(self, request: Request) -> None:
        if not self._ours or request.dry_run:
            return
        if request.kind == "RegionRestore" and request.name == RESTORED:
            self._judge_steps()
        if request.kind in KINDS:
            self._judge_writer(request)
        self._die_or_count(f"after {request.verb} {request.kind} {request.name}")

    def _die_or_count(self, where: str) -> None:
        if self.dies_at == 0:
            self.dies_at = -1
            self.tell(f"core is killed {where}")
            raise Killed
        self.dies_at -= self.dies_at > 0

    # -- what must never happen

    def _judge_steps(self) -> None:
        """Steps are made in their order, and none is done twice."""
        restore = self.restore()
        if restore is None:
            return
        obj = self.kube.get(RESTORE, RESTORED, NAMESPACE)
        assert obj is not None
        uid, states = obj["metadata"]["uid"], [one.state for one in restore.steps]
        over = [one.over for one in restore.steps]
        if sorted(over, reverse=True) != over and not restore.over:
            skipped = StepState.SKIPPED in states
            if not skipped:
                raise Violated("order of a restore", str(states))
        for old, new, record in zip(self._steps.get(uid, states), states, restore.steps, strict=True):
            if old == StepState.DONE and new != StepState.DONE:
                raise Violated("a step done twice", str(record.step))
        self._steps[uid] = states

    def _judge_writer(self, request: Request) -> None:
        """Nothing is stopped before the checks have passed, nor while the region is not held."""
        if (request.kind, request.name) == STAYS:
            raise Violated("the database stays", "a restore has changed it")
        restore = self.restore()
        if restore is None or restore.state_of(Step.HOLD) != StepState.DONE:
            raise Violated("touched too early", f"{request.name} while {restore}")
        obj = self.writer(request.kind, request.name)
        before = (obj["metadata"].get("annotations") or {}).get(RESTORE_BEFORE_ANNOTATION)
        now = obj["spec"]["suspend"] if request.kind == "CronJob" else obj["spec"]["replicas"]
        was = WRITERS[request.kind, request.name][1]
        if before is None and now != was:
            raise Violated("what a workload had", f"{request.name} has {now} instead of {was}")

    def _judge_load(self) -> None:
        restore = self.restore()
        if restore is None or restore.state_of(Step.LOAD) not in (StepState.RUNNING, StepState.FAILED):
            raise Violated("loaded at another time", str(restore))
        if found := self.writing():
            raise Violated("loaded while services write", ", ".join(found))
        if modes := [one["metadata"]["name"] for one in self.bundles() if one["spec"]["mode"] != "Paused"]:
            raise Violated("loaded while releases may change", ", ".join(modes))

    # -- everyone else

    def others(self) -> None:
        """helmbundle, controllers of workloads and health do what there is to do."""
        for kind, name in (*WRITERS, STAYS):
            if self.kube.get(KINDS[kind], name, NAMESPACE) is not None and kind != "CronJob":
                self.scale(kind, name)
        for bundle in self.bundles():
            self.helmbundle(bundle)
        self.health()

    def scale(self, kind: str, name: str) -> None:
        obj = self.writer(kind, name)
        replicas = obj["spec"]["replicas"]
        counts = dict.fromkeys(
            ("replicas", "readyReplicas", "updatedReplicas", "availableReplicas"), replicas
        )
        status = {"observedGeneration": obj["metadata"]["generation"], **counts}
        if (obj.get("status") or {}) != status:
            self.kube.replace({**obj, "status": status}, subresource="status")

    def helmbundle(self, bundle: KubeObject) -> None:
        """It deploys what a bundle asks for, and what a request asks for; a paused one stays as it is."""
        paused = bundle["spec"]["mode"] == "Paused"
        generation = bundle["metadata"]["generation"]
        force = (bundle["metadata"].get("annotations") or {}).get(FORCE_ANNOTATION) or ""
        old = bundle.get("status") or {}
        before = {one["name"]: one for one in old.get("releases") or ()}
        releases = []
        for one in bundle["spec"]["releases"]:
            known = before.get(one["name"])
            if paused and known:
                releases.append(known)
                continue
            attempt = {"action": "Upgrade", "time": "2026-11-27T00:00:00Z", "force": force}
            entry = {"name": one["name"], "namespace": NAMESPACE, "state": "Deployed", "reason": "Deployed"}
            entry |= {"revision": generation}
            releases.append({**entry, **({"lastAttempt": attempt} if force else {})})
        ready = Condition("Ready", "True", Reason.RELEASES_DEPLOYED, "", generation)
        conditions = entries([ready], old.get("conditions") or (), self.clock.now())
        status = {"observedGeneration": generation, "releases": releases, "conditions": conditions}
        if status != old:
            live = self.kube.get(HELMBUNDLE, bundle["metadata"]["name"], NAMESPACE)
            assert live is not None
            self.kube.replace({**live, "status": status}, subresource="status")

    def health(self) -> None:
        osdpl = self.osdpl()
        generation = int((osdpl.get("status") or {}).get("appliedGeneration") or 0)
        if not generation:
            return
        conditions = [
            Condition("ReleasesReady", "True", Reason.RELEASES_DEPLOYED, "", generation),
            Condition("WorkloadsHealthy", "True", Reason.WORKLOADS_HEALTHY, "", generation),
        ]
        known = (osdpl.get("status") or {}).get("conditions") or ()
        others = [one for one in known if one["type"] not in ("ReleasesReady", "WorkloadsHealthy")]
        status = {
            **(osdpl.get("status") or {}),
            "healthOf": marks_digest(map(bundle_mark, self.bundles())),
            "conditions": [*others, *entries(conditions, known, self.clock.now())],
        }
        if status != osdpl.get("status"):
            self.kube.replace({**osdpl, "status": status}, subresource="status")

    def jobs(self) -> None:
        """Each Job of a restore that has not ended ends."""
        for job in self.kube.list(JOB, NAMESPACE):
            name = job["metadata"]["name"]
            if (job.get("status") or {}).get("conditions") or not name.startswith("restore-"):
                continue
            if name.startswith("restore-load"):
                self._judge_load()
                self.loaded += not self.job_fails
            type_ = "Failed" if self.job_fails else "Complete"
            self.met[f"{name[:13]} {type_}"] += 1
            pod = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"{name}-x", "namespace": NAMESPACE, "labels": {"job-name": name}},
                "spec": {"containers": [{"name": "work", "image": "x"}]},
            }
            self.kube.create(pod)
            conditions = [{"type": type_, "status": "True", "message": "over", "reason": "Over"}]
            self.kube.replace({**job, "status": {"conditions": conditions}}, subresource="status")

    def _pod_log(self, name: str, namespace: str, **_: Any) -> str:
        if self.kube.get(POD, name, namespace) is None:
            return ""
        return self.output if "restore-check" in name else self.said

    def work(self) -> None:
        """Everyone does what there is to do, once."""
        self.region()
        self.core()
        self.others()
        self.jobs()
        self.clock.advance(31)

    def judge_end(self) -> None:
        """At rest everything has what it had before, whatever became of the restore."""
        restore = self.restore()
        if restore is not None and not restore.over:
            raise Violated("an end", f"{restore.phase}: {restore.message}")
        for (kind, name), (_, before) in WRITERS.items():
            obj = self.writer(kind, name)
            now = obj["spec"]["suspend"] if kind == "CronJob" else obj["spec"]["replicas"]
            note = (obj["metadata"].get("annotations") or {}).get(RESTORE_BEFORE_ANNOTATION)
            if now != before or note is not None:
                raise Violated("what a workload had", f"{name} has {now} instead of {before}")
        if restore is not None and restore.phase == Phase.DONE and not self.loaded:
            raise Violated("done without data", restore.message)
        if any(one["spec"]["mode"] != "Apply" for one in self.bundles()):
            raise Violated("an end", "a bundle is still paused")
        status = self.osdpl()["status"]
        if status.get("restore") or find(status["conditions"], "Ready")["status"] != "True":
            raise Violated("an end", f"the region is not Ready: {status['conditions']}")
