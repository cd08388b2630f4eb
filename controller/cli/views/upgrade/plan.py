"""What an upgrade to another version of OpenStack does, step by step. Pure, except for the render by Helm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.domain.api.names import SERVICE_LABEL
from controller.domain.region.allowed_version_steps import KEEPERS, Version, image_version
from controller.domain.region.upgrade.staged_releases import staged_spec
from controller.domain.region.upgrade.upgrade_policy import UpgradePolicy
from controller.domain.region.upgrade.upgrade_steps import Phase, UpgradeStep
from controller.domain.releases.bundle import ReleaseSpec
from controller.domain.releases.bundle_object import parse_bundle
from controller.domain.releases.manifest_diff import DAEMONSET, ManifestDiff, diff_manifests
from controller.domain.shared.max_unhealthy import MaxUnhealthy
from controller.domain.shared.plurals import count
from controller.ports.helm import RenderedRelease
from controller.ports.kubernetes import KubeObject, KubeObjects

Render = Callable[[ReleaseSpec], RenderedRelease]


@dataclass(frozen=True)
class ReleaseEffect:
    """A release that a step changes. `objects` is None if it was not rendered."""

    name: str
    objects: ManifestDiff | None = None


@dataclass(frozen=True)
class StepEffect:
    """What a step changes. `returnable`: an edit back to the version before still undoes all steps so far."""

    step: UpgradeStep
    releases: tuple[ReleaseEffect, ...] = ()
    returnable: bool = True

    @property
    def unchanged(self) -> bool:
        """Whether the step finds nothing to change, and is done immediately."""
        return not self.releases

    @property
    def restarts(self) -> tuple[str, ...]:
        """Workloads whose pods are replaced, as `Kind name`."""
        return tuple(title for one in self._objects for title in one.restarts)

    @property
    def pods(self) -> int:
        """Pods that are replaced, without those of DaemonSets."""
        return sum(one.pods for one in self._objects)

    @property
    def jobs(self) -> tuple[str, ...]:
        """Jobs that run."""
        return tuple(job for one in self._objects for job in one.jobs)

    @property
    def _objects(self) -> list[ManifestDiff]:
        return [one.objects for one in self.releases if one.objects is not None]


@dataclass(frozen=True)
class UpgradePreview:
    """An upgrade before it begins. `refused`: why it would not begin. `rendered`: objects are known."""

    region: str
    namespace: str
    source: str
    target: str
    policy: UpgradePolicy
    steps: tuple[StepEffect, ...]
    refused: tuple[str, ...] = ()
    rendered: bool = True

    @property
    def changing(self) -> tuple[StepEffect, ...]:
        """The steps that change something."""
        return tuple(step for step in self.steps if not step.unchanged)

    @property
    def no_return(self) -> str:
        """The first step that cannot be undone, or empty."""
        return next((one.step.name for one in self.steps if not one.returnable), "")

    @property
    def summary(self) -> str:
        """The upgrade in a sentence."""
        steps = count(len(self.changing), "step changes", "steps change")
        text = f"{self.source} → {self.target}: {steps} something"
        if not self.rendered:
            return text
        titles = [title for one in self.steps for title in one.restarts]
        nodes = sum(title.startswith(f"{DAEMONSET} ") for title in titles)
        pods = sum(one.pods for one in self.steps)
        parts = [count(pods, "pod")] if pods else []
        parts += [f"all pods of {count(nodes, DAEMONSET)}"] if nodes else []
        if not parts:
            return f"{text}; nothing restarts"
        return (
            f"{text}; {count(len(titles), 'workload restarts', 'workloads restart')} ({', and '.join(parts)})"
        )


def preview_steps(
    steps: Sequence[UpgradeStep],
    before: Iterable[KubeObject],
    after: KubeObjects,
    render: Render | None = None,
) -> tuple[StepEffect, ...]:
    """What each step changes. `before` and `after` are the region's HelmBundles of the two versions."""
    helm = _Rendered(render)
    specs: dict[str, Any] = {_service(bundle): bundle.get("spec") for bundle in before}
    begun: set[str] = set()
    returnable, found = True, []
    for step in steps:
        target = next((bundle for bundle in after if _service(bundle) == step.service), None)
        if target is None:
            continue
        own = [one for one in steps if one.service == step.service]
        current = specs.get(step.service)
        begun.add(step.name)
        becomes = staged_spec(target["spec"], current, own, begun)
        changed = _changed(target, current, becomes)
        if changed:
            returnable = returnable and _is_returnable(step, changed)
        releases = tuple(ReleaseEffect(new.name, helm.difference(old, new)) for old, new in changed)
        found.append(StepEffect(step, releases, returnable))
        specs[step.service] = becomes
    return tuple(found)


def _service(bundle: Mapping[str, Any]) -> str:
    return str((bundle["metadata"].get("labels") or {}).get(SERVICE_LABEL) or "")


def _changed(
    bundle: KubeObject, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> list[tuple[ReleaseSpec | None, ReleaseSpec]]:
    """The releases that differ, before and after. A change of their settings alone is none."""
    old = {one.name: one for one in _releases(bundle, before)}
    return [
        (old.get(one.name), one)
        for one in _releases(bundle, after)
        if one.name not in old or (old[one.name].chart, old[one.name].values) != (one.chart, one.values)
    ]


def _is_returnable(step: UpgradeStep, changed: Iterable[tuple[ReleaseSpec | None, ReleaseSpec]]) -> bool:
    """Whether the step can be undone: no database is migrated, and no server's data change."""
    if step.phase == Phase.CONTROL_PLANE:
        return False
    return all(
        old is None or new.chart.name not in KEEPERS or _server(old) == _server(new) for old, new in changed
    )


def _server(release: ReleaseSpec) -> Version | None:
    """The version of a broker's or database's server."""
    tags = (release.values.get("images") or {}).get("tags") or {}
    return image_version(str(tags.get(release.chart.name) or ""))


def _releases(bundle: KubeObject, spec: Mapping[str, Any] | None) -> tuple[ReleaseSpec, ...]:
    return parse_bundle({**bundle, "spec": spec}).spec.releases if spec else ()


class _Rendered:
    """Renders, each release once for each of its specs."""

    def __init__(self, render: Render | None) -> None:
        self._render = render
        self._last: dict[str, tuple[ReleaseSpec, RenderedRelease]] = {}

    def difference(self, old: ReleaseSpec | None, new: ReleaseSpec) -> ManifestDiff | None:
        if self._render is None:
            return None
        was = self._of(old) if old is not None else RenderedRelease((), ())
        becomes = self._of(new)
        return diff_manifests(
            was.manifest,
            becomes.manifest,
            becomes.hooks,
            old_hooks=was.hooks if old is not None else becomes.hooks,
            event="upgrade" if old is not None else "install",
        )

    def _of(self, spec: ReleaseSpec) -> RenderedRelease:
        assert self._render is not None  # noqa: S101 - asked by the caller
        known = self._last.get(spec.name)
        if known is not None and known[0] == spec:
            return known[1]
        rendered = self._render(spec)
        self._last[spec.name] = (spec, rendered)
        return rendered


def as_data(found: UpgradePreview) -> dict[str, Any]:
    """The upgrade for programs."""
    return {
        "region": {"namespace": found.namespace, "name": found.region},
        "from": found.source,
        "to": found.target,
        **({"refused": list(found.refused)} if found.refused else {}),
        "pointOfNoReturn": found.no_return,
        "steps": [
            {
                "name": one.step.name,
                "service": one.step.service,
                "phase": str(one.step.phase),
                "changes": not one.unchanged,
                "returnable": one.returnable,
                "byNode": one.step.about.by_node,
                "releases": [effect.name for effect in one.releases],
                **(
                    {"restarts": list(one.restarts), "pods": one.pods, "jobs": list(one.jobs)}
                    if found.rendered
                    else {}
                ),
            }
            for one in found.steps
        ],
    }


def gates_text(policy: UpgradePolicy) -> str:
    """What the next step waits for."""
    manual = ", and you allow the next one (osctl upgrade continue)" if policy.manual else ""
    smoke = ", and osctl smoke of its service passed" if policy.smoke else ""
    healthy = f"deployed and healthy for {policy.healthy_for} s"
    text = f"a step begins when the one before is {healthy}{smoke}{manual}"
    return f"{text}; spec.upgrade.paused is set: none begins" if policy.paused else text


def batch_text(policy: UpgradePolicy) -> str:
    """How the pods of nodes are replaced."""
    failed = count(policy.max_failed, "failed node stops", "failed nodes stop") if policy.max_failed else ""
    limit = f"more than {failed} the upgrade" if failed else "one failed node stops the upgrade"
    groups = f", by label {policy.by_label}" if policy.by_label else ""
    return f"{_batch(policy.batch)}{groups}; {limit}"


def _batch(size: MaxUnhealthy) -> str:
    if size.percentage:
        return f"{size.percentage} % of the nodes at once"
    return f"{size.number} nodes at once" if size.number != 1 else "one node at a time"
