"""What an action on a release would do to the cluster, asked of the API server by dry runs alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.api.names import HELM_FIELD_MANAGER
from controller.domain.api.object_owner import Ownership, owner_of
from controller.domain.api.region_spec import VolumePolicy
from controller.domain.releases.immutable_fields import fixed_changes
from controller.domain.releases.kept_claims import CLAIM, VOLUME_KINDS, is_kept
from controller.domain.releases.manifest_diff import HOOK, WORKLOADS
from controller.domain.releases.plan import PlanAction
from controller.errors import Conflict, Forbidden, ObjectMissing, ObjectRefused
from controller.ports.helm import RenderedRelease
from controller.ports.kubernetes import Kube, KubeObject, resource_of
from controller.reconcile.releases.actions.immutable_objects import fixed_problem, is_fixed
from controller.reconcile.releases.drift.compare import as_sent, cause_of
from controller.reconcile.releases.kept_claims.keep_marks import DroppedVolume

MOST_PROBLEMS = 3
_RUNNING_KINDS = ("Job", "Pod")
# What the API server writes by itself at every write, and what controllers write.
_SERVER_FIELDS = ("managedFields", "resourceVersion", "generation", "creationTimestamp", "uid", "selfLink")


@dataclass
class ObjectEffects:
    """Gathered object by object; see `ReleaseEffects` for the meaning of each list."""

    objects: list[str] = field(default_factory=list)
    restarts: list[str] = field(default_factory=list)
    pods: int = 0
    jobs: list[str] = field(default_factory=list)
    hooks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def problem(self) -> str:
        """The first problems in one text, empty when there is none."""
        more = len(self.problems) - MOST_PROBLEMS
        return "; ".join(self.problems[:MOST_PROBLEMS]) + (f"; and {more} more" if more > 0 else "")


class DryRun:
    """Compares a rendered release with what is there, as Helm's server-side apply would change it."""

    def __init__(self, kube: Kube, release: str, namespace: str) -> None:
        self._kube = kube
        self._release = release
        self._namespace = namespace

    def apply(
        self,
        rendered: RenderedRelease,
        action: PlanAction,
        before: Iterable[KubeObject],
        dropped: Iterable[DroppedVolume],
        *,
        volumes: VolumePolicy,
    ) -> ObjectEffects:
        """Effects of an install or upgrade; `before` are the objects of the revision deployed now, `dropped`
        the volumes that it would lose."""
        effects = ObjectEffects()
        for obj in rendered.manifest:
            self._apply_one(obj, effects)
        stays = {self._key(obj) for obj in rendered.manifest}
        gone = [obj for obj in before if self._key(obj) not in stays and obj.get("kind") not in VOLUME_KINDS]
        effects.objects += self._deletions(gone)
        effects.objects.sort()
        fates = [(one.lost and volumes == "Delete", one.title) for one in dropped if one.recorded]
        # First what cannot be brought back: a list that is cut must still show it.
        lost = [f"delete {title}" for goes, title in fates if goes]
        kept = [f"keep {title}" for goes, title in fates if not goes]
        effects.objects = [*lost, *kept, *effects.objects]
        effects.hooks += _running_hooks(
            rendered.hooks, "install" if action == PlanAction.INSTALL else "upgrade"
        )
        return effects

    def remove(
        self, recorded: RenderedRelease, claims: Iterable[str], *, delete_volumes: bool
    ) -> ObjectEffects:
        """Effects of an uninstall; `claims` are those that the release has now."""
        effects = ObjectEffects()
        kept = (CLAIM,) if delete_volumes else VOLUME_KINDS
        gone = [obj for obj in (*recorded.manifest, *recorded.hooks) if obj.get("kind") not in kept]
        lost = [f"delete {CLAIM}/{name}" for name in sorted(claims)] if delete_volumes else []
        # First what cannot be brought back: a list that is cut must still show it.
        effects.objects += [*lost, *sorted(set(self._deletions(gone)))]
        if not delete_volumes and claims:
            effects.notes.append("the volumes stay")
        return effects

    def _apply_one(self, obj: KubeObject, effects: ObjectEffects) -> None:
        title = self._title(obj)
        live = self._live(obj)
        try:
            after = self._kube.apply(
                as_sent(obj, self._release, self._namespace), manager=HELM_FIELD_MANAGER, dry_run=True
            )
        except ObjectMissing:
            effects.notes.append(f"{title} has a kind, or a namespace, that does not exist yet")
            effects.objects.append(f"create {title}")
            return
        except ObjectRefused as error:
            self._refused(obj, live, error, effects)
            return
        except (Forbidden, Conflict) as error:
            if live is not None and isinstance(error, Forbidden) and is_fixed(error):
                effects.problems.append(fixed_problem(live, obj, self._namespace, error))
            else:
                effects.problems.append(f"{title}: {error}")
            return
        if live is None:
            effects.objects.append(f"create {title}")
        elif _content(live) != _content(after):
            effects.objects.append(f"change {title}")
            if obj["kind"] in WORKLOADS and _template(live) != _template(after):
                self._restarts(title, live, effects)

    def _refused(
        self, obj: KubeObject, live: KubeObject | None, error: ObjectRefused, effects: ObjectEffects
    ) -> None:
        title = self._title(obj)
        # The words of apimachinery's ValidateImmutableField, as where Jobs are replaced.
        if obj["kind"] == "Job" and live is not None and "field is immutable" in str(error):
            effects.jobs.append(str(obj["metadata"]["name"]))
            effects.objects.append(f"replace {title}")
        elif "does not support dry run" in str(error):
            effects.notes.append(f"{title} cannot be tried, because a webhook does not support dry runs")
            effects.objects.append(f"{'create' if live is None else 'change'} {title}")
        elif live is not None and is_fixed(error) and fixed_changes(live, obj):
            effects.problems.append(fixed_problem(live, obj, self._namespace, error))
        else:
            effects.problems.append(f"{title} would fail: {cause_of(error)}")

    def _restarts(self, title: str, live: KubeObject, effects: ObjectEffects) -> None:
        strategy = str(((live.get("spec") or {}).get("updateStrategy") or {}).get("type") or "")
        if strategy == "OnDelete":
            effects.notes.append(f"the pods of {title} get the change only after you delete them")
            return
        effects.restarts.append(title)
        effects.pods += _pods(live)

    def _deletions(self, objects: Iterable[KubeObject]) -> list[str]:
        """Those that are still there, that are not another's by now, and that Helm does not keep."""
        return [
            f"delete {self._title(obj)}"
            for obj in objects
            if not is_kept(obj["metadata"])
            and (live := self._live(obj)) is not None
            and not self._is_others(live, obj)
        ]

    def _is_others(self, live: KubeObject, obj: KubeObject) -> bool:
        owner = owner_of(live["metadata"], obj["metadata"], self._release, self._namespace)
        return owner.ownership == Ownership.OTHERS

    def _live(self, obj: KubeObject) -> KubeObject | None:
        resource = resource_of(obj)
        return self._kube.get(resource, str(obj["metadata"]["name"]), self._space(obj))

    def _space(self, obj: KubeObject) -> str | None:
        if not resource_of(obj).namespaced:
            return None
        return str(obj["metadata"].get("namespace") or self._namespace)

    def _key(self, obj: KubeObject) -> tuple[str, str | None, str]:
        return str(obj["kind"]), self._space(obj), str(obj["metadata"]["name"])

    def _title(self, obj: KubeObject) -> str:
        kind, space, name = self._key(obj)
        return f"{kind}/{name}" if space in (None, self._namespace) else f"{kind}/{name} in {space}"


def _running_hooks(hooks: Iterable[KubeObject], event: str) -> list[str]:
    """Jobs and Pods that Helm runs before and after the action, in its order."""
    order = []
    for hook in hooks:
        if hook.get("kind") not in _RUNNING_KINDS:
            continue
        for phase, when in enumerate((f"pre-{event}", f"post-{event}")):
            if when in [one.strip() for one in str(_annotations(hook).get(HOOK) or "").split(",")]:
                name = str(hook["metadata"]["name"])
                order.append((phase, _weight(hook), f"{hook['kind']}/{name}"))
    return list(dict.fromkeys(title for _, _, title in sorted(order)))


def _weight(hook: Mapping[str, Any]) -> int:
    try:
        return int(str(_annotations(hook).get(f"{HOOK}-weight") or 0))
    except ValueError:
        return 0


def _annotations(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    found = (obj.get("metadata") or {}).get("annotations")
    return found if isinstance(found, Mapping) else {}


def _content(obj: Mapping[str, Any]) -> dict[str, Any]:
    """The desired content, without fields that the API server and controllers write."""
    meta = {key: value for key, value in obj["metadata"].items() if key not in _SERVER_FIELDS}
    return {
        **{key: value for key, value in obj.items() if key not in ("status", "metadata")},
        "metadata": meta,
    }


def _template(obj: Mapping[str, Any]) -> Any:
    return (obj.get("spec") or {}).get("template")


def _pods(live: Mapping[str, Any]) -> int:
    status, spec = live.get("status") or {}, live.get("spec") or {}
    if live.get("kind") == "DaemonSet":
        return int(status.get("desiredNumberScheduled") or 0)
    replicas = spec.get("replicas")
    return replicas if isinstance(replicas, int) else 1
