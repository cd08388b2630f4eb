"""What must be in the cluster when all is done, computed again, against what is there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from controller.adapters.charts.source import ChartStore
from controller.adapters.helm.client import HelmProgram
from controller.adapters.helm.program import find_program
from controller.adapters.helm.records.release_records import SecretRecords
from controller.adapters.system.randomness import SystemRandomness
from controller.domain.api.names import DIGEST_KEY_SECRET as KEY_SECRET
from controller.domain.releases.bundle_object import parse_bundle
from controller.ports.helm import HelmRequest
from controller.ports.kubernetes import (
    CONFIGMAP,
    DEPLOYMENT,
    HELMBUNDLE,
    JOB,
    POD,
    PVC,
    SECRET,
    Resource,
    resource_of,
)
from controller.reconcile.releases.observe_release import resolve_release
from controller.reconcile.shared.installation_key import InstallationKey
from controller.reconcile.shared.secret_values import SecretValues
from tests.chaos.random_bundles import RandomBundles, every_stateful_name
from tests.chaos.world import CHARTS, FINISHED, World, wait_for
from tests.cluster.region import NeverHappened
from tests.fakes.option_files import option_files

KEPT = 5
# What releases of the soak make, and what Kubernetes makes of that.
MADE = (
    CONFIGMAP,
    SECRET,
    JOB,
    DEPLOYMENT,
    Resource("v1", "Service", "services"),
    Resource("apps/v1", "ReplicaSet", "replicasets"),
    POD,
    PVC,
)
# Seconds that Kubernetes may need to take away what belonged to objects that are gone.
COLLECTED = 60.0

Names = frozenset[tuple[str, str]]  # kind and name


def everything(world: World) -> Names:
    """What is in the namespace now, of the kinds that releases make."""
    found = [(kind, world.kube.list_metadata(kind, world.namespace)) for kind in MADE]
    return frozenset((kind.kind, obj["metadata"]["name"]) for kind, objects in found for obj in objects)


class EndState:
    """Compares the cluster with what is desired, by ways of its own: Helm's rendering, a digest made again.

    `before` is what was there before any bundle.
    """

    def __init__(self, world: World, desired: RandomBundles, before: Names) -> None:
        self._world = world
        self._desired = desired
        self._before = before
        self._helm = HelmProgram(world.kube, find_program(), world.region.sandbox.kubeconfig)
        self._histories = SecretRecords(world.kube).observe(world.namespace)

    def wrong(self) -> list[str]:
        """Everything that is not as it should be, one line each."""
        return [*self._bundles(), *self._records(), *self._objects(), *self._claims(), *self._left_over()]

    def _bundles(self) -> Iterator[str]:
        there = {obj["metadata"]["name"] for obj in self._world.kube.list(HELMBUNDLE, self._world.namespace)}
        if there != set(self._desired.bundles):
            yield f"bundles {sorted(there)}, wanted {sorted(self._desired.bundles)}"

    def _records(self) -> Iterator[str]:
        wanted = self._digests()
        there = {name for name in self._histories if not name.startswith("osctl-")}
        if there != set(wanted):
            yield f"releases {sorted(there)}, wanted {sorted(wanted)}"
        for name in sorted(there & set(wanted)):
            revisions = self._histories[name]
            statuses = [one.status for one in revisions]
            if statuses[-1] != "deployed" or statuses.count("deployed") != 1 or set(statuses) - FINISHED:
                yield f"history of {name}: {statuses}"
            if revisions[-1].digest != wanted[name] or not revisions[-1].ours:
                yield f"{name} is at {revisions[-1]}, wanted {wanted[name]}"
            if len(revisions) > KEPT:
                yield f"{name} has {len(revisions)} revisions"

    def _digests(self) -> dict[str, str]:
        kube, namespace = self._world.kube, self._world.namespace
        charts = ChartStore(CHARTS)
        key = InstallationKey(kube, SystemRandomness(), namespace)
        found = {}
        for obj in kube.list(HELMBUNDLE, namespace):
            for spec in parse_bundle(obj).spec.releases:
                found[spec.name] = resolve_release(
                    spec, SecretValues(kube, namespace), charts, key.read, option_files()
                ).digest
        return found

    def _rendered(self) -> dict[tuple[str, str], dict[str, Any]]:
        """What is to be there, by kind and name. Hooks of an uninstall pass."""
        wanted: dict[tuple[str, str], dict[str, Any]] = {}
        for release in self._desired.releases():
            request = HelmRequest(
                release.name, self._world.namespace, str(CHARTS / "worker"), release.spec()["values"]
            )
            rendered = self._helm.render(request)
            passing = f"{release.name}-farewell"
            for obj in (*rendered.manifest, *rendered.hooks):
                if obj["metadata"]["name"] != passing:
                    wanted[obj["kind"], obj["metadata"]["name"]] = obj
        return wanted

    def _objects(self) -> Iterator[str]:
        wanted = self._rendered()
        for (kind, name), obj in sorted(wanted.items()):
            live = self._world.kube.get(resource_of(obj), name, self._world.namespace)
            if live is None:
                yield f"{kind} {name} is missing"
            elif "deletionTimestamp" in live["metadata"]:
                yield f"{kind} {name} is going"
            else:
                for field in ("data", "spec"):
                    yield from _differences(f"{kind} {name} {field}", obj.get(field), live.get(field))

    def _left_over(self) -> list[str]:
        """What no one wants any more, of every kind that releases make."""
        wanted = self._rendered().keys() | self._before | self._records_wanted()
        # Claims stay, whoever made them.
        wanted |= {(PVC.kind, f"{name}-data") for name in every_stateful_name()}
        found: list[str] = []

        def nothing() -> bool:
            found[:] = [
                f"{kind} {name} is left over" for kind, name in self._unowned() if (kind, name) not in wanted
            ]
            return not found

        with contextlib.suppress(NeverHappened):
            wait_for("what is gone is taken away", nothing, COLLECTED, str)
        return found

    def _records_wanted(self) -> set[tuple[str, str]]:
        """Secrets of Helm's records, which are looked at one by one, and of the installation."""
        names = {release.name for release in self._desired.releases()}
        records = {
            (SECRET.kind, f"sh.helm.release.v1.{name}.v{revision.version}")
            for name in names
            for revision in self._histories.get(name, ())
        }
        return {*records, (SECRET.kind, KEY_SECRET)}

    def _unowned(self) -> list[tuple[str, str]]:
        """Objects that do not belong to another one that is there."""
        there = {
            (kind.kind, obj["metadata"]["name"]): obj["metadata"]
            for kind in MADE
            for obj in self._world.kube.list_metadata(kind, self._world.namespace)
        }
        alive = {meta["uid"] for meta in there.values()}
        return sorted(
            one
            for one, meta in there.items()
            if not any(owner["uid"] in alive for owner in meta.get("ownerReferences") or [])
        )

    def _claims(self) -> Iterator[str]:
        there = self._world.names(PVC)
        for release in self._desired.releases():
            if release.stateful and f"{release.name}-data" not in there:
                yield f"claim of {release.name} is lost"


def _differences(path: str, wanted: Any, live: Any) -> Iterator[str]:
    """Where the cluster lacks what was rendered; what it added by itself is no difference."""
    if isinstance(wanted, Mapping):
        for key, value in wanted.items():
            if not isinstance(live, Mapping) or key not in live:
                yield f"{path}.{key} is missing"
            else:
                yield from _differences(f"{path}.{key}", value, live[key])
    elif isinstance(wanted, list):
        if not isinstance(live, list) or len(live) != len(wanted):
            yield f"{path}: {live}, rendered {wanted}"
        else:
            for number, (one, other) in enumerate(zip(wanted, live, strict=True)):
                yield from _differences(f"{path}[{number}]", one, other)
    elif wanted != live:
        yield f"{path}: {live}, rendered {wanted}"
