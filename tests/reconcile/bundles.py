"""helmbundle's reconciler on a cluster and a Helm in memory, one pass at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from controller.adapters.charts import source
from controller.domain.releases.bundle import ChartRef
from controller.domain.releases.hooks import JOB_NAME, parse_hook_job
from controller.ports.kubernetes import HELMBUNDLE, JOB, POD
from controller.ports.metrics import Metrics, NoMetrics
from controller.reconcile.releases.action_slots import ActionSlots
from controller.reconcile.releases.bundle import BundleReconciler
from controller.reconcile.releases.drift.watch import DriftWatch
from controller.reconcile.releases.hooks.progress import HookFollower
from controller.reconcile.releases.parts import BundleListeners, BundleSettings, DriftRates, ReleasePorts
from controller.reconcile.shared.object_store import ObjectStore
from sandbox.patience import Patience
from tests.fakes.held_rights import CHARTS, CONTROLLER, HeldRights
from tests.fakes.helm import FakeHelm
from tests.fakes.kube import FakeKube
from tests.fakes.option_files import option_files
from tests.fakes.release import FakeWatch
from tests.fakes.world import FakeClock
from tests.reconcile.watched import DEFINITIONS

NAMESPACE = "openstack"
DEADLINE = 60.0


class Charts:
    """Every chart is there; its digest is its version."""

    def locate(self, chart: ChartRef) -> str:
        return f"/charts/{chart.name}"

    def digest(self, chart: ChartRef) -> str:
        return f"sha256:{chart.name} {chart.version}"

    def build(self, chart: ChartRef) -> str:
        return ""

    def of_objects(self) -> str:
        return str(Path(source.__file__).with_name("objects"))

    def defaults(self, chart: ChartRef) -> Mapping[str, Any]:
        return {}

    def files(self, chart: ChartRef) -> Mapping[str, bytes]:
        return {}


class NoEvents:
    def __init__(self) -> None:
        self.emitted: list[tuple[str, str]] = []

    def emit(
        self, obj: Mapping[str, Any], *, type_: str, reason: str, message: str, logged: bool = False
    ) -> None:
        self.emitted.append((type_, f"{reason}: {message}"))


class Bench:
    """What a test does with bundles. `restart` is what a killed container is: it forgets everything."""

    def __init__(self, *, size: int = 8, waiters: int = 56, measures: Metrics | None = None) -> None:
        self.clock = FakeClock()
        self.kube = FakeKube(clock=self.clock)
        for definition in DEFINITIONS:
            self.kube.serve(definition)
        self.helm = FakeHelm(self.kube, self.clock)
        self.size, self.waiters = size, waiters
        self.events = NoEvents()
        self.measures = measures or NoMetrics()
        self.digest_key: Callable[[], bytes] = lambda: b"key"
        self.charts = Charts()
        self.reserved: tuple[str, str] | None = None
        self.uninstall_within = 600
        self.note_end: Callable[[tuple[str, str]], None] = self._requeue
        self.restart()

    def restart(self) -> None:
        # What the chart grants: who acts as the wrong account is refused.
        accounts = (HeldRights(self.kube, account, NAMESPACE) for account in (CONTROLLER, CHARTS))
        own, charts = self.accounts = tuple(accounts)
        self.slots = ActionSlots(self.size, waiters=self.waiters)
        self.jobs = ObjectStore(own, self.clock, NAMESPACE, {JOB: parse_hook_job})
        self.asked: set[tuple[str, str]] = set()
        self._lock = threading.Lock()
        self.watch = FakeWatch(self.kube)
        self.drift = DriftWatch(
            kube=charts,
            records=self.helm,
            watch=self.watch,
            clock=self.clock,
            reconcile_after=lambda after: None,
            changed_bundle=self._requeue,
            pace=DriftRates(),
        )
        self.reconciler = BundleReconciler(
            ReleasePorts(
                kube=own,
                as_charts=charts,
                helm=self.helm,
                records=self.helm,
                charts=self.charts,
                clock=self.clock,
                events=self.events,
                digest_key=self.digest_key,
                option_files=option_files(),
                measures=self.measures,
            ),
            BundleSettings(resync=300.0, reserved=self.reserved, uninstall_within=self.uninstall_within),
            BundleListeners(
                requeue=self._requeue,
                note_end=self._note_end,
                learn=lambda texts: None,
            ),
            slots=self.slots,
            hooks=HookFollower(own, self.helm, self.clock, self.jobs),
            drift=self.drift,
        )

    def _note_end(self, key: tuple[str, str]) -> None:
        self.note_end(key)

    def _requeue(self, key: tuple[str, str]) -> None:
        with self._lock:
            self.asked.add(key)

    def take_asked(self) -> set[tuple[str, str]]:
        """Which bundles are to be looked at; from now on only those that are asked for later."""
        with self._lock:
            asked, self.asked = self.asked, set()
        return asked

    def bundle(self, name: str, *releases: str | dict[str, Any], **spec: Any) -> None:
        """Applies a bundle: a release by its name alone, or with more of its spec."""
        desired = [{"name": one} if isinstance(one, str) else one for one in releases]
        items = [{"chart": {"name": one["name"], "path": one["name"]}, **one} for one in desired]
        there = self.kube.get(HELMBUNDLE, name, NAMESPACE)
        meta = there["metadata"] if there else {"name": name, "namespace": NAMESPACE}
        body = {"apiVersion": HELMBUNDLE.api_version, "kind": HELMBUNDLE.kind, "metadata": meta}
        write = self.kube.replace if there else self.kube.create
        write({**body, "spec": {"releases": items, **spec}})

    def annotate(self, name: str, annotations: Mapping[str, str | None]) -> None:
        """Sets annotations of a bundle; None removes one."""
        self.kube.merge_patch(HELMBUNDLE, name, NAMESPACE, {"metadata": {"annotations": dict(annotations)}})

    def reconcile(self, *names: str) -> None:
        """One pass at each bundle, all by default, with what the watch of Jobs has reported until now."""
        for obj in self.kube.list(JOB, NAMESPACE):
            self.jobs.feed(JOB, "MODIFIED", obj)
        for name in names or [one["metadata"]["name"] for one in self.kube.list(HELMBUNDLE, NAMESPACE)]:
            self.reconciler.reconcile((NAMESPACE, name))

    def settle(self) -> None:
        """Looks until no action runs and nothing more begins."""
        self.until(lambda: self._is_idle() and self._is_calm(), "everything is done")

    def _is_idle(self) -> bool:
        return not any(one.name.startswith("helm ") for one in threading.enumerate())

    def _is_calm(self) -> bool:
        self.asked.clear()
        self.reconcile()
        return self._is_idle() and not self.asked

    def until(self, condition: Callable[[], Any], what: str) -> None:
        """Looks until the condition holds."""
        patience = Patience(DEADLINE)
        while not condition():
            assert not patience.is_over(), f"{what}: never; {self.statuses()}"
            self.reconcile()

    def wait(self, condition: Callable[[], Any], what: str) -> None:
        """Until the condition holds, without a pass."""
        patience = Patience(DEADLINE)
        while not condition():
            assert not patience.is_over(), f"{what}: never"
            time.sleep(0.001)

    def status(self, name: str) -> dict[str, Any]:
        found = self.kube.get(HELMBUNDLE, name, NAMESPACE)
        assert found is not None
        status: dict[str, Any] = found.get("status") or {}
        return status

    def statuses(self) -> dict[str, Any]:
        return {one["metadata"]["name"]: one.get("status") for one in self.kube.list(HELMBUNDLE, NAMESPACE)}

    def release(self, bundle: str, release: str) -> dict[str, Any]:
        return next((one for one in self.status(bundle).get("releases", []) if one["name"] == release), {})

    def condition(self, bundle: str, type_: str) -> dict[str, Any]:
        return next((one for one in self.status(bundle).get("conditions", []) if one["type"] == type_), {})

    def hook_runs(self, job: str) -> bool:
        """Whether some action waits for the Job; makes it active, as the Job's controller would."""
        found = self.kube.get(JOB, job, NAMESPACE)
        if found is None or not any(True for _ in self.slots.busy()):
            return False
        started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.clock.now()))
        self.kube.replace({**found, "status": {"active": 1, "startTime": started}}, subresource="status")
        return True

    def pod(self, job: str, status: Mapping[str, Any], **spec: Any) -> None:
        """The pod of a hook's Job."""
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": "u", "controller": True}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{job}-x7k2p",
                "namespace": NAMESPACE,
                "labels": {JOB_NAME: job},
                "ownerReferences": [owner],
            },
            "spec": {"containers": [{"name": "main", "image": "registry/nova:1"}], **spec},
        }
        there = self.kube.get(POD, pod["metadata"]["name"], NAMESPACE)  # type: ignore[index]
        live = there or self.kube.create(pod)
        self.kube.replace({**live, "status": dict(status)}, subresource="status")
