"""Whose an object is, shown by its metadata alone."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.api.names import HAND_OVER_ANNOTATION, KEPT_LABEL
from controller.domain.api.object_owner import Owner, Ownership, is_marked, owner_of, take_over_patch

SPACE = "openstack"
HELM = {"app.kubernetes.io/managed-by": "Helm"}


def meta(**more: Any) -> dict[str, Any]:
    return {"name": "web", "namespace": SPACE, "resourceVersion": "7", **more}


def marks(release: str = "web", namespace: str = SPACE) -> dict[str, str]:
    return {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": namespace}


def hook(**labels: str) -> dict[str, Any]:
    return meta(annotations={"helm.sh/hook": "pre-install"}, labels=labels)


def controlled(kind: str, name: str) -> list[dict[str, Any]]:
    return [{"kind": kind, "name": name, "controller": True}]


OTHERS = {
    "another release's": (meta(annotations=marks("other")), 'release "other" of namespace "openstack"'),
    "one of the same name elsewhere": (
        meta(annotations=marks(namespace="two")),
        'release "web" of namespace "two"',
    ),
    "a release's of nowhere": (meta(annotations={"meta.helm.sh/release-name": "web"}), 'release "web"'),
    "this controller's": (
        meta(labels={"app.kubernetes.io/managed-by": "openstack-controller"}),
        "this controller",
    ),
    "a tool's": (meta(labels={"app.kubernetes.io/managed-by": "argocd"}), '"argocd"'),
    "a controller's": (meta(ownerReferences=controlled("Gateway", "front")), "Gateway/front"),
    "another release's hook": (hook(release_group="other"), 'release "other"'),
}


@pytest.mark.parametrize(("live", "owner"), OTHERS.values(), ids=OTHERS.keys())
def test_what_others_have_marked_is_theirs(live: dict[str, Any], owner: str) -> None:
    rendered = {"labels": {"release_group": "web"}}
    assert owner_of(live, rendered, "web", SPACE) == Owner(Ownership.OTHERS, owner)


OURS = {
    "marked by Helm": meta(annotations=marks(), labels=HELM),
    "marked by Helm, and by others beside": meta(
        annotations=marks(), labels={"app.kubernetes.io/managed-by": "argocd"}
    ),
    "a kept volume": meta(labels={KEPT_LABEL: "web"}),
    "what its hook has made": hook(release_group="web"),
}


@pytest.mark.parametrize("live", OURS.values(), ids=OURS.keys())
def test_what_the_release_has_made_is_its_own(live: dict[str, Any]) -> None:
    assert owner_of(live, {"labels": {"release_group": "web"}}, "web", SPACE).ownership == Ownership.OURS


NOBODYS = {
    "unmarked": meta(),
    "from a manifest of Helm's": meta(labels=HELM),
    "labelled as the chart does it": meta(labels={"app.kubernetes.io/managed-by": "chart"}),
    "a kept volume of a release of that name elsewhere": {"name": "web", "labels": {KEPT_LABEL: "web"}},
    "a hook's, without a label": hook(),
    "a hook's in no namespace": {"annotations": {"helm.sh/hook": "x"}, "labels": {"release_group": "web"}},
}


@pytest.mark.parametrize("live", NOBODYS.values(), ids=NOBODYS.keys())
def test_an_object_that_names_no_owner_has_none(live: dict[str, Any]) -> None:
    rendered = {"labels": {"release_group": "web", "app.kubernetes.io/managed-by": "chart"}}
    assert owner_of(live, rendered, "web", SPACE).ownership == Ownership.NOBODYS


@pytest.mark.parametrize("live", [one for one, _ in OTHERS.values()], ids=OTHERS.keys())
def test_any_owner_may_hand_it_over_to_one_release(live: dict[str, Any]) -> None:
    given = {**(live.get("annotations") or {}), HAND_OVER_ANNOTATION: "openstack/web"}
    live = {**live, "annotations": given}
    assert owner_of(live, {}, "web", SPACE).ownership == Ownership.HANDED_OVER
    assert owner_of(live, {}, "web", "two").ownership != Ownership.HANDED_OVER


def test_what_is_taken_over_is_marked_and_given_once() -> None:
    given = meta(annotations={HAND_OVER_ANNOTATION: "openstack/web"})
    patch = take_over_patch(given, "web", SPACE)["metadata"]
    assert patch["resourceVersion"] == "7"
    assert patch["annotations"][HAND_OVER_ANNOTATION] is None
    assert is_marked(patch, "web", SPACE)
    assert not is_marked(given, "web", SPACE)
