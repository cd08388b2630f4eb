"""Compares objects of a release with its manifest at the API server, and corrects them there.

Everything is asked and written under Helm's own field manager, as Helm itself would: the next upgrade
then owns every field of its manifest, and no hand edit stands in its way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.domain.api.names import HELM_FIELD_MANAGER, MANAGED_BY, RELEASE_NAME, RELEASE_NAMESPACE
from controller.domain.api.object_owner import Ownership, owner_of, take_over_patch, way_to_hand_over
from controller.domain.releases.bundle import DriftIgnore
from controller.domain.releases.drift import difference
from controller.domain.releases.drift.difference import Change, Drifted, Keys, ObjectId
from controller.domain.releases.kept_claims import claims_lost_by_scaling
from controller.errors import Conflict, Forbidden, ObjectMissing, ObjectRefused
from controller.ports.kubernetes import STATEFULSET, Kube, KubeObject, Resource, resource_of
from controller.reconcile.shared.preconditioned_writes import NOTHING_READ

HOOK_ANNOTATION = "helm.sh/hook"
_AUTOSCALER = Resource("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
# The words of field.Invalid and field.Forbidden of apimachinery, and of what validation says of fields
# that are fixed for the life of an object.
_FIELD = re.compile(r"\b((?:metadata|spec|data|rules|roleRef)[\w.\[\]-]*): (?:Invalid value|Forbidden)")
_FIXED = ("immutable", "may not change", "updates to", "cannot change roleRef", "can not be less than")
# Admission's words (NamespaceLifecycle), which only the right path of a namespaced kind leads to.
_NO_NAMESPACE = re.compile(r'\bnamespaces "[^"]*" not found')
# Errors from a document that Helm, or another writer, recorded with other types.
MALFORMED = (LookupError, TypeError, ValueError, AttributeError)
# Attempts at an object that others write to at the same time, such as the controller of its kind.
TRIES = 10
_REPLICAS: Keys = ("spec", "replicas")


@dataclass(frozen=True)
class Compared:
    """How an object stands: what differs, None when nothing does, and the print of it when it was read.

    `fit` is what an apply would send, on condition that the object is as it was read, or missing still; None
    when there is nothing to be sent or it cannot be. `handed_over` is what gives the object to the release
    first, None where it need not be.
    """

    drifted: Drifted | None
    fingerprint: str
    fit: KubeObject | None = None
    handed_over: KubeObject | None = None


def identify(obj: Mapping[str, Any], namespace: str) -> ObjectId:
    """Which object a document of a manifest describes; `namespace` is the release's."""
    meta = obj["metadata"]
    where = str(meta.get("namespace") or namespace) if resource_of(obj).namespaced else ""
    return ObjectId(str(obj["apiVersion"]), str(obj["kind"]), where, str(meta["name"]))


def is_named(obj: Mapping[str, Any]) -> bool:
    """Whether a document of a manifest says which object it describes: one with a `generateName` describes
    another one each time."""
    meta = obj.get("metadata")
    return bool(isinstance(meta, Mapping) and meta.get("name") and obj.get("apiVersion") and obj.get("kind"))


@dataclass(frozen=True)
class Corrected:
    """An object that was to be corrected: what was wrong with it, what still is, and its print then."""

    found: Drifted | None
    remaining: Drifted | None
    fingerprint: str


def compare(
    kube: Kube, obj: KubeObject, release: str, namespace: str, rules: Sequence[DriftIgnore]
) -> Compared:
    """Reads the object, and asks by a dry run what applying it would change.

    Raises KubeError when the API server does not answer or does not let us ask.
    """
    identity = identify(obj, namespace)
    live = kube.get(resource_of(obj), identity.name, identity.namespace or None)
    desired = as_sent(obj, release, namespace)
    if live is None:
        if _passes_away(obj):
            return Compared(None, "")
        try:
            # Also tells a missing object from a kind that the API server does not know.
            kube.apply(desired, manager=HELM_FIELD_MANAGER, dry_run=True)
        except ObjectRefused as error:
            if not _may_not_be_asked(error):
                return Compared(Drifted(identity, Change.REFUSED, message=cause_of(error)), "")
        return Compared(Drifted(identity, Change.DELETED), "", _as_read(desired, NOTHING_READ))
    seen = difference.fingerprint(live["metadata"])
    if live["metadata"].get("deletionTimestamp"):
        # On its way out; the end of it is reported by the watch.
        return Compared(None, seen)
    owner = owner_of(live["metadata"], obj["metadata"], release, namespace)
    if owner.ownership == Ownership.OTHERS:
        return Compared(_taken(identity, owner.name, release, namespace), seen)
    given = None
    if owner.ownership == Ownership.HANDED_OVER and not is_hook(obj):
        given = take_over_patch(live["metadata"], release, namespace)
    try:
        after = _tried(kube, identity, desired, live, rules)
    except ObjectRefused as error:
        if is_hook(obj) or _may_not_be_asked(error):
            # Another revision's hook made it: a Job cannot be changed, and must not run again for this.
            # Without a comparison, no difference is known.
            return Compared(None, seen)
        return Compared(Drifted(identity, Change.REFUSED, message=cause_of(error)), seen)
    changed = difference.changed_keys(live, after)
    others = [keys for keys in changed if _is_others(kube, identity, live, keys, rules)]
    own = [keys for keys in changed if keys not in others]
    if not own:
        return Compared(None, seen)
    by = sorted({name for keys in own for name in difference.managers_of(live, keys)})
    paths = tuple(difference.pointer(keys) for keys in own)
    if others:
        merged = difference.with_live(desired, live, others)
        if merged is None:
            text = "an ignored field is in a list that differs as a whole"
            return Compared(Drifted(identity, Change.REFUSED, paths, tuple(by), text), seen)
        desired = merged
    lost = _lost_by_scaling(live, desired)
    edited = Drifted(identity, Change.REFUSED if lost else Change.EDITED, paths, tuple(by), lost)
    return Compared(edited, seen, None if lost else _as_read(desired, live["metadata"]), given)


def _lost_by_scaling(live: KubeObject, desired: KubeObject) -> str:
    """Why a correction would take data along, empty where it does not. `volumes` says what becomes of those
    of a removed release; that a person has more replicas than the manifest asks for no deletion."""
    text = claims_lost_by_scaling(live, desired) if desired.get("kind") == STATEFULSET.kind else ""
    remedy = "scale it yourself, or set persistentVolumeClaimRetentionPolicy.whenScaled to Retain"
    return text and f"{text} deletes the claims of the removed pods: {remedy}"


def correct(kube: Kube, observe: Callable[[], Compared]) -> Corrected:
    """Applies what a `observe` compared; another pass, a few times, where others have written meanwhile.

    Raises KubeError when the API server does not answer, or does not allow it.
    """
    for _ in range(TRIES):
        compared = observe()
        before = compared.drifted
        if before is None or compared.fit is None:
            return Corrected(before, before, compared.fingerprint)
        try:
            if compared.handed_over is not None:
                name, where = before.object.name, before.object.namespace or None
                kube.merge_patch(resource_of(compared.fit), name, where, compared.handed_over)
                continue
            after = kube.apply(compared.fit, manager=HELM_FIELD_MANAGER)
        except ObjectRefused as error:
            remaining = Drifted(before.object, Change.REFUSED, before.paths, before.by, cause_of(error))
            return Corrected(before, remaining, "")
        except Conflict:
            continue
        return Corrected(before, None, difference.fingerprint(after["metadata"]))
    # The watch reports whoever writes that often, and it is compared again.
    return Corrected(before, before, "")


def _as_read(desired: KubeObject, read: Mapping[str, Any]) -> KubeObject:
    """The object to apply, on the condition that no one has written the object since the read. Another
    release may own it by then, and fields that are left out may have changed."""
    condition = {key: read[key] for key in ("uid", "resourceVersion") if key in read}
    return {**desired, "metadata": {**desired["metadata"], **condition}}


def as_sent(obj: KubeObject, release: str, namespace: str) -> KubeObject:
    """The object as Helm sends it: in its namespace, and, if it is no hook, with the marks of its release.

    The marks are those of helm.sh/helm/v4/pkg/action, setMetadataVisitor.
    """
    meta = dict(obj["metadata"])
    if resource_of(obj).namespaced:
        meta["namespace"] = meta.get("namespace") or namespace
    if not is_hook(obj):
        marks = {RELEASE_NAME: release, RELEASE_NAMESPACE: namespace}
        meta["labels"] = {**(meta.get("labels") or {}), MANAGED_BY: "Helm"}
        meta["annotations"] = {**(meta.get("annotations") or {}), **marks}
    return {**obj, "metadata": meta}


def is_hook(obj: Mapping[str, Any]) -> bool:
    """Whether a document of a manifest is a hook's."""
    return HOOK_ANNOTATION in (obj["metadata"].get("annotations") or {})


def cannot_compare(object_: ObjectId, error: Exception) -> Drifted | None:
    """What is reported of an object that could not be compared: nothing where it is looked for in vain.

    `resource_of` guesses where a kind is that it does not know; Helm asks the API server.
    """
    if isinstance(error, ObjectMissing) and not _NO_NAMESPACE.search(str(error)):
        return None
    return not_comparable(object_, error)


def not_comparable(object_: ObjectId, error: Exception, before: Drifted | None = None) -> Drifted:
    """An object that the API server does not let us compare, or corrected; `before` is how it was found.

    The text does not quote the server, as in `cause_of`.
    """
    if isinstance(error, Forbidden):
        text = "a right of the controller is missing, or an admission rule forbids it"
    elif isinstance(error, ObjectMissing):
        text = "the kind or the namespace of the object does not exist"
    elif isinstance(error, MALFORMED):
        text = "the manifest of the object is malformed"
    else:
        text = f"the API server answers with an error ({type(error).__name__})"
    if before is None:
        return Drifted(object_, Change.REFUSED, message=f"the controller cannot compare the object: {text}")
    return Drifted(object_, Change.REFUSED, before.paths, before.by, text)


def cause_of(error: ObjectRefused) -> str:
    """Why an object is refused, without the server's words: those may quote what a Secret holds."""
    fields = sorted(set(_FIELD.findall(str(error))))
    where = f" ({', '.join(fields)})" if fields else ""
    if any(words in str(error) for words in _FIXED):
        return f"a field that differs cannot be changed{where}"
    return f"the API server refuses the manifest{where}"


def _taken(identity: ObjectId, owner: str, release: str, namespace: str) -> Drifted:
    way = way_to_hand_over(identity.kind, identity.name, identity.namespace, release, namespace)
    text = f"the object now belongs to {owner}; to hand the object over to this release: {way}"
    return Drifted(identity, Change.REFUSED, message=text)


def _tried(
    kube: Kube, identity: ObjectId, desired: KubeObject, live: KubeObject, rules: Sequence[DriftIgnore]
) -> KubeObject:
    """The object after the apply. What is refused may be so for the sake of a field that is ignored."""
    try:
        return kube.apply(desired, manager=HELM_FIELD_MANAGER, dry_run=True)
    except ObjectRefused:
        merged = difference.with_live(desired, live, difference.ignored_places(identity, live, rules))
        if merged is None or merged == desired:
            raise
        return kube.apply(merged, manager=HELM_FIELD_MANAGER, dry_run=True)


def _may_not_be_asked(error: ObjectRefused) -> bool:
    """An admission webhook with side effects has every dry run refused, whatever would be sent
    (k8s.io/apiserver/pkg/admission/plugin/webhook/errors, NewDryRunUnsupportedErr)."""
    return "does not support dry run" in str(error)


def _passes_away(obj: Mapping[str, Any]) -> bool:
    """A finished Job with a time to live is taken away by Kubernetes itself."""
    return obj.get("kind") == "Job" and (obj.get("spec") or {}).get("ttlSecondsAfterFinished") is not None


def _is_others(
    kube: Kube, identity: ObjectId, live: KubeObject, keys: Keys, rules: Sequence[DriftIgnore]
) -> bool:
    if difference.is_ignored(identity, keys, rules):
        return True
    return keys == _REPLICAS and (difference.is_autoscaled(live) or _has_autoscaler(kube, identity))


def _has_autoscaler(kube: Kube, identity: ObjectId) -> bool:
    for scaler in kube.list(_AUTOSCALER, identity.namespace):
        target = (scaler.get("spec") or {}).get("scaleTargetRef") or {}
        if (target.get("kind"), target.get("name")) == (identity.kind, identity.name):
            return True
    return False
