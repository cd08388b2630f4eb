"""What must be in the cluster when all is done, computed anew, against what is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller.adapters.chart_source import ChartStore
from controller.adapters.helm_sdk import SdkClient
from controller.adapters.randomness import SystemRandomness
from controller.adapters.release_records import SecretRecords
from controller.domain.bundle_object import parse_bundle
from controller.helm_port import HelmRequest
from controller.ports import CONFIGMAP, HELMBUNDLE, JOB, PVC, resource_of
from controller.reconcile.installation_key import InstallationKey
from controller.reconcile.observed_release import want_release
from controller.reconcile.secret_values import SecretValues
from tests.chaos.wishes import Wishes
from tests.chaos.world import CHARTS, FINISHED, World

KEPT = 5


class EndState:
    """Compares the cluster with the wishes, by ways of its own: Helm's rendering, a digest made anew."""

    def __init__(self, world: World, wishes: Wishes) -> None:
        self._world = world
        self._wishes = wishes
        self._helm = SdkClient(world.kube, world.region.sandbox.kubeconfig)
        self._histories = SecretRecords(world.kube).observe(world.namespace)

    def wrong(self) -> list[str]:
        """Everything that is not as it should be, one line each."""
        return [*self._bundles(), *self._records(), *self._objects(), *self._claims()]

    def _bundles(self) -> Iterator[str]:
        there = {obj["metadata"]["name"] for obj in self._world.kube.list(HELMBUNDLE, self._world.namespace)}
        if there != set(self._wishes.bundles):
            yield f"bundles {sorted(there)}, wanted {sorted(self._wishes.bundles)}"

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
                found[spec.name] = want_release(spec, SecretValues(kube, namespace), charts, key.read).digest
        return found

    def _objects(self) -> Iterator[str]:
        wanted: dict[tuple[str, str], dict[str, Any]] = {}
        for release in self._wishes.releases():
            request = HelmRequest(
                release.name, self._world.namespace, str(CHARTS / "worker"), release.spec()["values"]
            )
            rendered = self._helm.render(request)
            passing = f"{release.name}-farewell"
            for obj in (*rendered.manifest, *rendered.hooks):
                if obj["metadata"]["name"] != passing:
                    wanted[obj["kind"], obj["metadata"]["name"]] = obj
        for (kind, name), obj in sorted(wanted.items()):
            live = self._world.kube.get(resource_of(obj), name, self._world.namespace)
            if live is None:
                yield f"{kind} {name} is not there"
            elif "deletionTimestamp" in live["metadata"]:
                yield f"{kind} {name} is going"
            else:
                for field in ("data", "spec"):
                    yield from _differences(f"{kind} {name} {field}", obj.get(field), live.get(field))
        for resource in (CONFIGMAP, JOB):
            for name in sorted(self._world.names(resource)):
                if (resource.kind, name) not in wanted:
                    yield f"{resource.kind} {name} is left over"

    def _claims(self) -> Iterator[str]:
        there = self._world.names(PVC)
        for release in self._wishes.releases():
            if release.stateful and f"{release.name}-data" not in there:
                yield f"claim of {release.name} is lost"


def _differences(path: str, wanted: Any, live: Any) -> Iterator[str]:
    """Where the cluster lacks what was rendered; what it added by itself is no difference."""
    if isinstance(wanted, Mapping):
        for key, value in wanted.items():
            if not isinstance(live, Mapping) or key not in live:
                yield f"{path}.{key} is not there"
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
