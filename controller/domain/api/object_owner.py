"""Finds the owner of an object with a name that a release renders.

Pure. Helm marks its objects by two annotations and a label (helm.sh/helm/v4/pkg/action, checkOwnership), but
not the objects of hooks. Other programs mark theirs by the label `app.kubernetes.io/managed-by`, by an owner
reference, or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controller.domain.api.names import (
    HAND_OVER_ANNOTATION,
    HOOK,
    KEPT_LABEL,
    MANAGED_BY,
    MANAGED_BY_US,
    RELEASE_LABELS,
    RELEASE_NAME,
    RELEASE_NAMESPACE,
)

HELM = "Helm"
# Characters of the objects that a command names: it shares the text of one error with their owners.
MOST_NAMES = 400

Metadata = Mapping[str, Any]


class Ownership(StrEnum):
    """The kind of an object's owner."""

    OURS = "Ours"
    HANDED_OVER = "HandedOver"
    """An operator has handed it over to the release."""
    OTHERS = "Others"
    NOBODYS = "Nobodys"
    """It has no mark: its content decides."""


@dataclass(frozen=True)
class Owner:
    """The owner of an object; `name` describes a foreign owner."""

    ownership: Ownership
    name: str = ""


def owner_of(live: Metadata, rendered: Metadata, release: str, namespace: str) -> Owner:
    """The owner of the object with the metadata `live`, compared with the release in that namespace."""
    notes, labels = live.get("annotations") or {}, live.get("labels") or {}
    if is_handed_over(live, release, namespace):
        return Owner(Ownership.HANDED_OVER)
    name, home = notes.get(RELEASE_NAME), notes.get(RELEASE_NAMESPACE)
    if name:
        if (name, home) == (release, namespace):
            return Owner(Ownership.OURS)
        return Owner(Ownership.OTHERS, f'release "{name}"' + (f' of namespace "{home}"' if home else ""))
    if labels.get(KEPT_LABEL) == release and live.get("namespace") == namespace:
        return Owner(Ownership.OURS)
    manager = labels.get(MANAGED_BY)
    if manager and manager not in (HELM, (rendered.get("labels") or {}).get(MANAGED_BY)):
        return Owner(Ownership.OTHERS, "this controller" if manager == MANAGED_BY_US else f'"{manager}"')
    controller = next((one for one in live.get("ownerReferences") or [] if one.get("controller")), None)
    if controller is not None:
        return Owner(Ownership.OTHERS, f"{controller.get('kind')}/{controller.get('name')}")
    return _by_labels(live, rendered, namespace) if HOOK in notes else Owner(Ownership.NOBODYS)


def _by_labels(live: Metadata, rendered: Metadata, namespace: str) -> Owner:
    """The owner of an object of a hook. Helm does not mark it. Charts name its release by a label, which is
    the same for releases in two namespaces."""
    theirs, ours = _release_labels(live), _release_labels(rendered)
    other = [theirs[label] for label in theirs.keys() & ours.keys() if theirs[label] != ours[label]]
    if other:
        return Owner(Ownership.OTHERS, f'release "{other[0]}"')
    ours_by_marks = bool(theirs.keys() & ours.keys()) and live.get("namespace") == namespace
    return Owner(Ownership.OURS if ours_by_marks else Ownership.NOBODYS)


def _release_labels(meta: Metadata) -> dict[str, str]:
    labels = meta.get("labels") or {}
    return {label: str(labels[label]) for label in RELEASE_LABELS if labels.get(label)}


def heir(release: str, namespace: str) -> str:
    """The annotation's value that hands an object over to the release."""
    return f"{namespace}/{release}"


def is_handed_over(live: Metadata, release: str, namespace: str) -> bool:
    """Whether an operator has handed an object with this metadata over to the release."""
    return (live.get("annotations") or {}).get(HAND_OVER_ANNOTATION) == heir(release, namespace)


def is_marked(live: Metadata, release: str, namespace: str) -> bool:
    """Whether Helm itself treats an object with this metadata as part of the release."""
    notes = live.get("annotations") or {}
    helms = (notes.get(RELEASE_NAME), notes.get(RELEASE_NAMESPACE)) == (release, namespace)
    return (
        helms
        and (live.get("labels") or {}).get(MANAGED_BY) == HELM
        and not is_handed_over(live, release, namespace)
    )


def take_over_patch(live: Metadata, release: str, namespace: str) -> dict[str, Any]:
    """A merge patch that hands an unchanged object over to the release: it adds Helm's marks, and removes the
    annotation, which is valid once."""
    return {
        "metadata": {
            "resourceVersion": live["resourceVersion"],
            "labels": {MANAGED_BY: HELM},
            "annotations": {
                RELEASE_NAME: release,
                RELEASE_NAMESPACE: namespace,
                HAND_OVER_ANNOTATION: None,
            },
        }
    }


def way_to_hand_over(kind: str, name: str, where: str, release: str, namespace: str) -> str:
    """The command that hands an object over to the release; `where`: the object's namespace, or empty."""
    return ways_to_hand_over([(kind, name, where)], release, namespace)


def ways_to_hand_over(objects: Sequence[tuple[str, str, str]], release: str, namespace: str) -> str:
    """The command that gives these objects (kind, name and namespace, if any) to the release; one for each
    namespace, in a line of the shell. A long one has the first objects only, and says so."""
    length, some = 0, list[tuple[str, str, str]]()
    for kind, name, where in objects:
        length += len(f" {kind}/{name}")
        if some and length > MOST_NAMES:
            break
        some.append((kind, name, where))
    places = dict.fromkeys(where for _, _, where in some)
    commands = []
    for place in places:
        names = " ".join(f"{kind.lower()}/{name}" for kind, name, where in some if where == place)
        space = f"-n {place} " if place else ""
        commands.append(f"kubectl {space}annotate {names} {HAND_OVER_ANNOTATION}={heir(release, namespace)}")
    rest = len(objects) - len(some)
    return " && ".join(commands) + (f" (then the other {rest} are named)" if rest else "")


# Messages about foreign releases with the name of a bundle's release.
RESERVED = "belongs to the controller's own installation; rename it here"


def made_by_bundle(bundle: str) -> str:
    """For a release of another HelmBundle."""
    return f'belongs to HelmBundle "{bundle}"; rename it here or remove it there'


def made_by_others(release: str, namespace: str, version: int) -> str:
    """For a release, at that revision, without a HelmBundle."""
    record = f"sh.helm.release.v1.{release}.v{version}"
    way = way_to_hand_over("Secret", record, namespace, release, namespace)
    return f"was not created by this controller; rename it here, or hand it over: {way}"
