"""Refuses an upgrade that would change a fixed field of an object.

Helm would apply half of the release, fail, and fail again at every try. Asked of the API server by dry
runs, as for Jobs (immutable_jobs), which can be replaced; these bear volumes, and an operator decides.
"""

from __future__ import annotations

from controller.domain.api.names import HELM_FIELD_MANAGER
from controller.domain.releases.immutable_fields import CLAIM, STATEFUL_SET, fixed_changes, way_out
from controller.errors import FieldsFixed, Forbidden, ObjectRefused
from controller.ports.helm import RenderedRelease
from controller.ports.kubernetes import Kube, KubeObject, resource_of
from controller.reconcile.releases.drift.compare import as_sent, cause_of

_KINDS = (STATEFUL_SET, CLAIM)
# The words of apimachinery's ValidateImmutableField, of ValidateStatefulSetUpdate and
# ValidatePersistentVolumeClaimUpdate, and of the admission of larger claims, which answers 403.
_WORDS = ("immutable", "updates to statefulset spec", "can not be less than", "must support resize")


def refuse_fixed_changes(kube: Kube, rendered: RenderedRelease, release: str, namespace: str) -> None:
    """Raises FieldsFixed where what is rendered cannot become of the objects that are there.

    Raises KubeError when the API server does not answer; the upgrade is then tried again later.
    """
    found = []
    for obj in rendered.manifest:
        if obj.get("kind") not in _KINDS:
            continue
        where = str(obj["metadata"].get("namespace") or namespace)
        live = kube.get(resource_of(obj), str(obj["metadata"]["name"]), where)
        if live is None:
            continue
        try:
            kube.apply(as_sent(obj, release, namespace), manager=HELM_FIELD_MANAGER, dry_run=True)
        except (ObjectRefused, Forbidden) as error:
            # Any other refusal is for Helm to meet and to report.
            if is_fixed(error):
                found.append(fixed_problem(live, obj, where, error))
    if found:
        raise FieldsFixed("; ".join(found))


def is_fixed(error: ObjectRefused | Forbidden) -> bool:
    """Whether an object is refused for the sake of a field that is fixed for its life."""
    return any(words in str(error) for words in _WORDS)


def fixed_problem(live: KubeObject, desired: KubeObject, namespace: str, error: Exception) -> str:
    """What cannot be changed in the object, and what an operator can do about it."""
    kind, name = str(desired["kind"]), str(desired["metadata"]["name"])
    what = "; ".join(fixed_changes(live, desired))
    if not what:
        what = (
            cause_of(error) if isinstance(error, ObjectRefused) else "the class does not allow claims to grow"
        )
    return f"{kind}/{name} cannot be changed: {what}; {way_out(kind, name, namespace)}"
