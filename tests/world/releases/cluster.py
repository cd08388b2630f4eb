"""The cluster: its store with what runs by itself in Kubernetes, pods that open databases, and a backup."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.names import HOOK, RELEASE_NAME, ROLLBACK_RELEASE_PREFIX
from controller.domain.releases.kept_claims import kept_for
from controller.errors import ApiUnavailable, Conflict
from controller.ports.helm import HelmRequest
from controller.ports.kubernetes import JOB, LEASE, OSDPL, PVC, KubeObject, Resource
from tests.fakes.kube import FakeKube
from tests.fakes.objects import Identity, identity_of
from tests.reconcile.watched import DEFINITIONS
from tests.world.clocks import Time, WrongClock
from tests.world.releases.region import NAME, NAMESPACE, OPENS, rendered
from tests.world.releases.truth import CREDENTIALS, DATA, IN_USE, LATE, LOOKS_EVERY, Foreign, Volume
from tests.world.truth import Violated

API = {
    "OpenStackDeployment": OSDPL.api_version,
    "HelmBundle": OSDPL.api_version,
    "StatefulSet": "apps/v1",
    "Job": "batch/v1",
    **dict.fromkeys(("Secret", "ConfigMap", "PersistentVolumeClaim", "Namespace"), "v1"),
}
HOOK_SECONDS = 4.0
FOREVER = 1e9


@dataclass(frozen=True)
class Backup:
    """What etcd held. Volumes are not in it."""

    store: tuple[Mapping[Identity, Any], int]
    foreign: dict[Identity, Any]
    leases: dict[str, KubeObject]


class Cluster:
    """`hook_seconds`: how long a Job takes, by its name; `hooks_fail`: those that fail."""

    def __init__(self, time: Time) -> None:
        self.time = time
        self.clock = WrongClock(time)
        self.kube = FakeKube(clock=self.clock, shares=True)
        self._uids = 0
        self.kube.new_uid = self._new_uid
        for definition in DEFINITIONS:
            self.kube.serve(definition)
        self.foreign = Foreign()
        self.volumes: dict[str, Volume] = {}
        self.hook_seconds: dict[str, float] = {}
        self.hooks_fail: set[str] = set()
        # Releases whose last record a person has deleted.
        self.forgotten: set[str] = set()
        # Releases whose bundle is lost: where their service is not wanted any more, no one removes them.
        self.orphaned: set[str] = set()
        # Whether someone of ours hears nothing of what persons edit, until its next look.
        self.is_deaf: Callable[[], bool] = lambda: False
        # By uid: claims that persons have deleted, and since when a deletion was last asked for by a spec.
        self.deleted_by_person: set[str] = set()
        self._asked: dict[str, float] = {}
        self._to_delete_asked = -FOREVER
        # What the person said last of volumes, also where the osdpl is gone; and what they said before.
        self._volumes_said = self._volumes_said_before = "Retain"
        self._volumes_said_at = -FOREVER
        self._present: dict[str, str] = {}
        self._ending: set[str] = set()
        self._jobs: dict[str, float] = {}
        self.restores = 0
        self._settled = (-1, 0, 0)
        self.leases: dict[str, KubeObject] = {}

    def _new_uid(self) -> str:
        self._uids += 1
        return f"00000000-0000-4000-8000-{self._uids:012}"

    # -- what persons ask for

    def osdpl(self) -> KubeObject | None:
        return self.raw("OpenStackDeployment", NAME)

    def raw(self, kind: str, name: str) -> KubeObject | None:
        """As it is stored; not to be changed."""
        stored = self.kube._objects.get((API[kind], kind, "" if kind == "Namespace" else NAMESPACE, name))
        return stored.obj if stored is not None else None

    def all_of(self, kind: str) -> list[KubeObject]:
        """As they are stored; not to be changed."""
        return [one.obj for key, one in self.kube._objects.items() if key[1] == kind]

    @property
    def stamp(self) -> tuple[int, int, int]:
        """Another one whenever anything in the store is."""
        return (self.kube.version, len(self.kube._objects), self.restores)

    def edit_region(self, patch: Mapping[str, Any]) -> None:
        self.kube.merge_patch(OSDPL, NAME, NAMESPACE, {"spec": dict(patch)})
        self.note_wishes()

    def note_wishes(self) -> None:
        """Which claims no one asks for any more, where `volumes` is `Delete`: by the person's word, whatever
        core has made of it, and not before core has reported it."""
        osdpl = self.osdpl()
        now = self.time.seconds
        if osdpl is not None:
            said = (osdpl.get("spec") or {}).get("volumes") or "Retain"
            if said != self._volumes_said:
                self._volumes_said_before, self._volumes_said_at = self._volumes_said, now
            self._volumes_said = said
        elif self._volumes_said == "Retain" and now - self._volumes_said_at <= self._late():
            # It was lost with this word before a pass could read it: what was said before stands.
            self._volumes_said = self._volumes_said_before
        if self._volumes_said != "Delete":
            return
        self._to_delete_asked = now
        for claim in self.all_of("PersistentVolumeClaim"):
            bundle = self._bundle_of(release_of(claim))
            if bundle is None or bundle["spec"].get("volumes") != "Delete":
                continue
            back = f"{ROLLBACK_RELEASE_PREFIX}/{release_of(claim)}"
            goes_back = back in (bundle["metadata"].get("annotations") or {})
            if goes_back or claim["metadata"]["name"] not in self.claims_asked_for(bundle):
                self._asked[claim["metadata"]["uid"]] = now

    def _bundle_of(self, release: str) -> KubeObject | None:
        """The bundle that has the release, or has had it."""
        found = (one for one in self.all_of("HelmBundle") if one["metadata"]["name"] != "mine")
        bundles = [one for one in found if identity_of(one) not in self.foreign.objects]
        for one in bundles:
            if any(item["name"] == release for item in one["spec"]["releases"]):
                return one
        names = {"mariadb": "database", "keystone": "identity", "glance": "image"}
        return next((one for one in bundles if one["metadata"]["name"] == names.get(release)), None)

    def claims_asked_for(self, bundle: KubeObject) -> set[str]:
        if bundle["metadata"].get("deletionTimestamp"):
            return set()
        found: set[str] = set()
        for item in bundle["spec"]["releases"]:
            request = HelmRequest(item["name"], NAMESPACE, item["chart"]["name"], item.get("values") or {})
            for obj in rendered(request).manifest:
                if obj["kind"] == "PersistentVolumeClaim":
                    found.add(obj["metadata"]["name"])
                elif obj["kind"] == "StatefulSet":
                    found |= {f"data-{obj['metadata']['name']}-{number}" for number in range(3)}
        return found

    def may_delete_volumes(self, stood: float) -> bool:
        """Whether the region's spec asks for `volumes: Delete`, or did a moment ago."""
        self.note_wishes()
        return self.time.seconds - self._to_delete_asked <= self._late() + stood

    def _late(self) -> float:
        return LATE + (LOOKS_EVERY if self.is_deaf() else 0.0)

    # -- claims

    def check_claims(self, stood: float = 0.0) -> None:
        """Raises Violated where data go that no one asked to go. `stood`: for how long who deletes has
        stood still since it decided."""
        # Time passes in the middle of a pass, too, while another one stands still.
        self.note_wishes()
        claims = {one["metadata"]["uid"]: one for one in self.all_of("PersistentVolumeClaim")}
        for uid, name in list(self._present.items()):
            live = claims.get(uid)
            ending = live is None or bool(live["metadata"].get("deletionTimestamp"))
            if not ending or uid in self._ending:
                continue
            self._ending.add(uid)
            known = self.volumes.get(uid)
            if known is None or known.gone or uid in self.deleted_by_person:
                continue
            if self.time.seconds - self._asked.get(uid, -FOREVER) > self._late() + stood:
                raise Violated(DATA, f"the claim {name} goes, and nobody has asked for that")
        for uid in self._present.keys() - claims.keys():
            del self._present[uid]
            if uid in self.volumes:
                self.volumes[uid].gone = True
        for uid, claim in claims.items():
            if uid not in self._present:
                self._present[uid] = claim["metadata"]["name"]
                self.volumes.setdefault(uid, Volume(claim["metadata"]["name"], uid))
                if IN_USE not in (claim["metadata"].get("finalizers") or ()):
                    patch = {"metadata": {"finalizers": [IN_USE]}}
                    self.kube.merge_patch(PVC, claim["metadata"]["name"], NAMESPACE, patch)

    def _end_claims(self) -> None:
        for claim in self.all_of("PersistentVolumeClaim"):
            meta = claim["metadata"]
            if meta.get("deletionTimestamp") and not self._in_use(meta):
                self.kube.merge_patch(PVC, meta["name"], NAMESPACE, {"metadata": {"finalizers": None}})

    def _in_use(self, claim: Mapping[str, Any]) -> bool:
        """By pods of a StatefulSet, or of the workload beside the ConfigMap of its release. No pod that is
        made later is scheduled with a claim that is being deleted."""
        for one in self.all_of("StatefulSet"):
            if re.fullmatch(rf"data-{one['metadata']['name']}-[0-9]+", claim["name"]):
                return _was_before(one, claim)
        user = {"glance-images": "glance-etc", "mariadb-dumps": "mariadb-etc"}.get(claim["name"], "")
        live = self.raw("ConfigMap", user)
        if live is None or identity_of(live) in self.foreign.objects:
            return False
        return live["data"].get("mounts") == claim["name"] and _was_before(live, claim)

    def volume(self, claim: str) -> Volume | None:
        """What the claim of that name holds, None where it is not there, or its data are not."""
        live = self.raw("PersistentVolumeClaim", claim)
        found = self.volumes.get(live["metadata"]["uid"]) if live is not None else None
        return found if found is not None and not found.gone else None

    def present(self) -> set[str]:
        """The claims that there were at the last look."""
        return set(self._present)

    # -- what runs by itself

    def tick(self) -> None:
        if self.stamp != self._settled:
            self._run_all()
        self._run_jobs()
        self.note_wishes()

    def _run_all(self) -> None:
        self._run_statefulsets()
        self.kube.collect_garbage()
        self.check_claims()
        self._end_claims()
        self.check_claims()
        self._run_pods()
        self._settled = self.stamp

    def _run_statefulsets(self) -> None:
        for one in self.all_of("StatefulSet"):
            if one["metadata"].get("deletionTimestamp"):
                continue
            name = one["metadata"]["name"]
            owner = {
                "apiVersion": "apps/v1",
                "kind": "StatefulSet",
                "name": name,
                "uid": one["metadata"]["uid"],
            }
            retention = one["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
            owners = [owner] if retention.get("whenDeleted") == "Delete" else None
            for number in range(one["spec"].get("replicas", 1)):
                claim = f"data-{name}-{number}"
                live = self.raw("PersistentVolumeClaim", claim)
                if live is None:
                    meta = {"name": claim, "namespace": NAMESPACE, "labels": {"release_group": name}}
                    meta |= {"ownerReferences": owners} if owners else {}
                    self.kube.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta})
                elif (live["metadata"].get("ownerReferences") or None) != owners:
                    self.kube.merge_patch(PVC, claim, NAMESPACE, {"metadata": {"ownerReferences": owners}})

    def _run_jobs(self) -> None:
        now = self.time.seconds
        for one in self.all_of("Job"):
            meta, status = one["metadata"], one.get("status") or {}
            if status.get("conditions") or HOOK not in (meta.get("annotations") or {}):
                continue
            since = self._jobs.setdefault(meta["uid"], now)
            cut = (one.get("spec") or {}).get("activeDeadlineSeconds")
            if cut or (meta["name"] in self.hooks_fail and now - since >= HOOK_SECONDS):
                self._end_job(one, "Failed")
            elif now - since >= self.hook_seconds.get(meta["name"], HOOK_SECONDS):
                self._end_job(one, "Complete")
            elif not status:
                self._job_status(one, {"active": 1})

    def _end_job(self, job: KubeObject, condition: str) -> None:
        if job["metadata"]["name"] == "keystone-bootstrap" and condition == "Complete":
            volume = self.volume("data-mariadb-0")
            if volume is not None:
                # As Keystone's bootstrap does it: the administrator has the password of today.
                volume.opens["admin"] = secret_text(self.raw("Secret", "keystone-admin"), "admin")
        entry = {"type": condition, "status": "True", "reason": condition, "message": ""}
        self._job_status(job, {"conditions": [entry]})

    def _job_status(self, job: KubeObject, status: Mapping[str, Any]) -> None:
        self.kube.merge_patch(
            JOB, job["metadata"]["name"], NAMESPACE, {"status": dict(status)}, subresource="status"
        )

    def _run_pods(self) -> None:
        """The database is made with what its Secret holds, and everyone opens it with what theirs hold."""
        volume = self.volume("data-mariadb-0")
        if volume is None or self.raw("StatefulSet", "mariadb") is None:
            return
        for name, what in OPENS.items():
            secret = self.raw("Secret", name)
            if secret is None or identity_of(secret) in self.foreign.objects:
                continue
            text = secret_text(secret, what)
            if not text:
                continue
            if what not in volume.opens and name == "mariadb-root":
                volume.opens[what] = text
                texts = {secret_text(self.raw("Secret", one), OPENS[one]) for one in OPENS}
                volume.never = texts - {text}
            known = volume.opens.get(what, text)
            if text != known and text not in volume.never:
                raise Violated(
                    CREDENTIALS, f"{name} does not open the database any more that has {what} of before"
                )

    def job_outcome(self, name: str) -> str:
        """How it ended, empty where it has not."""
        job = self.raw("Job", name)
        entries = ((job or {}).get("status") or {}).get("conditions") or ()
        return next((str(one["type"]) for one in entries), "")

    # -- etcd

    def back_up(self) -> Backup:
        return Backup(self.kube.snapshot(), dict(self.foreign.objects), dict(self.leases))

    def restore(self, backup: Backup) -> None:
        """The store goes back; volumes, and what is in them, do not."""
        self.kube.restore(backup.store)
        self.foreign.objects = dict(backup.foreign)
        self.leases = dict(backup.leases)
        self.restores += 1
        claims = {one["metadata"]["uid"]: one["metadata"] for one in self.all_of("PersistentVolumeClaim")}
        self._present = {uid: meta["name"] for uid, meta in claims.items()}
        self._ending = {uid for uid, meta in claims.items() if meta.get("deletionTimestamp")}
        self._asked.clear()
        self._to_delete_asked = -FOREVER
        self.note_wishes()


class LeaseStore:
    """`controller.ports.kubernetes.Kube` for Leases, which are written so often that they are kept apart.

    `is_away`: whether the API server does not answer.
    """

    def __init__(self, cluster: Cluster, is_away: Callable[[], bool]) -> None:
        self._cluster = cluster
        self._is_away = is_away

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> KubeObject | None:
        if self._is_away():
            raise ApiUnavailable("the API server does not answer")
        if resource != LEASE:
            return self._cluster.kube.get(resource, name, namespace)
        return self._cluster.leases.get(name)

    def create(self, obj: KubeObject) -> None:
        self._write(obj, None)

    def replace(self, obj: KubeObject) -> None:
        self._write(obj, obj["metadata"].get("resourceVersion"))

    def _write(self, obj: KubeObject, seen: str | None) -> None:
        if self._is_away():
            raise ApiUnavailable("the API server does not answer")
        name = obj["metadata"]["name"]
        live = self._cluster.leases.get(name)
        if (live["metadata"]["resourceVersion"] if live is not None else None) != seen:
            raise Conflict(f"Lease {name} has been modified")
        version = str(int(seen or "0") + 1)
        meta = {**obj["metadata"], "resourceVersion": version, "uid": "1"}
        self._cluster.leases[name] = {**obj, "metadata": meta}


def _was_before(user: KubeObject, claim: Mapping[str, Any]) -> bool:
    return str(user["metadata"]["creationTimestamp"]) < str(claim["deletionTimestamp"])


def release_of(claim: KubeObject) -> str:
    """The release that a claim was made for."""
    meta = claim["metadata"]
    named = {"data-mariadb": "mariadb", "mariadb-dumps": "mariadb", "glance-images": "glance"}
    by_name = next((one for start, one in named.items() if meta["name"].startswith(start)), "")
    return by_name or kept_for(meta) or str((meta.get("annotations") or {}).get(RELEASE_NAME) or "")


def secret_text(secret: Mapping[str, Any] | None, key: str) -> str:
    return base64.b64decode(((secret or {}).get("data") or {}).get(key) or "").decode()
