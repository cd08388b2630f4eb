"""What an upgrade from one rendered manifest to another does to the cluster's objects. Pure.

Kubernetes' own rules: a workload's pods are replaced when its pod template differs; the template of a
Job cannot be changed, so a Job that differs is replaced; Helm runs a release's hooks at every upgrade.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.releases.digests import canonical_json
from controller.domain.releases.immutable_fields import fixed_changes, way_out
from controller.domain.releases.kept_claims import CLAIM, VOLUME_KINDS, is_kept, takes_claims_along

KubeObject = Mapping[str, Any]
DAEMONSET = "DaemonSet"
WORKLOADS = ("Deployment", "StatefulSet", DAEMONSET)
HOOK = "helm.sh/hook"


@dataclass(frozen=True)
class ManifestDiff:
    """Objects as `Kind name`. `restarts`: workloads whose pods are replaced, with `pods` of them in all,
    those of DaemonSets, one a node, not counted. `jobs`: Jobs that are replaced, or run as hooks; one that is
    another than before is among `changed` and `created` as well. `refused`: what Kubernetes refuses to
    change, each with the fields and the way out; nothing of the release is upgraded then. `kept` are volumes
    that are not in the release any more and stay; `loses_data`: some go."""

    created: tuple[str, ...]
    changed: tuple[str, ...]
    deleted: tuple[str, ...]
    restarts: tuple[str, ...]
    pods: int
    jobs: tuple[str, ...]
    refused: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    loses_data: bool = False


def diff_manifests(
    old: Iterable[KubeObject],
    new: Iterable[KubeObject],
    new_hooks: Iterable[KubeObject] = (),
    *,
    old_hooks: Iterable[KubeObject] = (),
    event: str = "upgrade",
    retain: bool = True,
) -> ManifestDiff:
    """The difference between what a release consists of now, and then. `event` is which hooks run: Helm is
    called, also where no object differs. `retain`: its volumes are kept."""
    before = {_key(obj): obj for obj in old}
    after = {_key(obj): obj for obj in new}
    common = [key for key in after if key in before]
    changed = [key for key in common if before[key] != after[key]]
    restarted = [
        key for key in changed if key[0] in WORKLOADS and _template(before[key]) != _template(after[key])
    ]
    jobs = [key for key in changed if key[0] == "Job"]
    hooks = _running_jobs(new_hooks, event)
    ran = _running_jobs(old_hooks, event)
    others = [key for key in ran if key in hooks and ran[key] != hooks[key]]
    gone = sorted(before.keys() - after.keys())
    kept = [key for key in gone if _is_volume(before[key]) and (retain or _says_keep(before[key]))]
    lost = [key for key in gone if key not in kept and _holds_data(before[key])]
    return ManifestDiff(
        created=tuple(
            _title(key) for key in [*sorted(after.keys() - before.keys()), *sorted(hooks.keys() - ran.keys())]
        ),
        changed=tuple(_title(key) for key in [*changed, *others]),
        deleted=tuple(_title(key) for key in gone if key not in kept),
        restarts=tuple(_title(key) for key in restarted),
        pods=sum(_replicas(after[key]) for key in restarted),
        jobs=tuple(key[2] for key in [*jobs, *hooks]),
        refused=tuple(
            f"{_title(key)}: {'; '.join(fixed)}; {way_out(key[0], key[2], key[1])}"
            for key in changed
            if (fixed := fixed_changes(before[key], after[key]))
        ),
        kept=tuple(_title(key) for key in kept),
        loses_data=bool(lost) and not retain,
    )


def same_objects(old: Iterable[KubeObject], new: Iterable[KubeObject]) -> bool:
    """Whether both have the very same objects, in whatever order."""
    return sorted(map(canonical_json, old)) == sorted(map(canonical_json, new))


def _running_jobs(hooks: Iterable[KubeObject], event: str) -> dict[tuple[str, str, str], KubeObject]:
    """The Jobs that Helm runs with the event, in the order of the hooks."""
    return {_key(one): one for one in hooks if event in _hook_events(one) and one.get("kind") == "Job"}


def _is_volume(obj: KubeObject) -> bool:
    return obj.get("kind") in VOLUME_KINDS


def _says_keep(obj: KubeObject) -> bool:
    return is_kept(obj.get("metadata") or {})


def _holds_data(obj: KubeObject) -> bool:
    return obj.get("kind") == CLAIM or (obj.get("kind") == "StatefulSet" and takes_claims_along(obj))


def images(objects: Iterable[KubeObject]) -> frozenset[str]:
    """Every image that a container of these objects runs."""
    return frozenset(image for obj in objects for image in _images(obj))


def _images(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key in ("containers", "initContainers") and isinstance(item, list):
                yield from (one["image"] for one in item if isinstance(one, Mapping) and one.get("image"))
            else:
                yield from _images(item)
    elif isinstance(value, list):
        for item in value:
            yield from _images(item)


def _key(obj: KubeObject) -> tuple[str, str, str]:
    meta = obj.get("metadata") or {}
    return str(obj.get("kind")), str(meta.get("namespace") or ""), str(meta.get("name"))


def _title(key: tuple[str, str, str]) -> str:
    return f"{key[0]} {key[2]}"


def _template(obj: KubeObject) -> Any:
    return (obj.get("spec") or {}).get("template")


def _replicas(obj: KubeObject) -> int:
    if obj.get("kind") == DAEMONSET:
        return 0
    replicas = (obj.get("spec") or {}).get("replicas")
    return replicas if isinstance(replicas, int) else 1


def _hook_events(obj: KubeObject) -> str:
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    return str(annotations.get(HOOK) or "")
