"""Which volumes are a release's, and which a change would lose."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.releases.kept_claims import (
    claims_lost_by_scaling,
    hook_claims,
    hook_sets,
    identify,
    is_of_another,
    is_of_release,
    title_of,
    volume_names,
)

SPACE = "openstack"
CLAIM = "PersistentVolumeClaim"


def stateful(replicas: int | None = 3, **policy: str) -> dict[str, Any]:
    spec: dict[str, Any] = {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]}
    spec |= {"replicas": replicas} if replicas is not None else {}
    spec |= {"persistentVolumeClaimRetentionPolicy": policy} if policy else {}
    return {"kind": "StatefulSet", "metadata": {"name": "db"}, "spec": spec}


@pytest.mark.parametrize(
    ("name", "there"),
    [("data-db-0", True), ("data-db-12", True), ("data-db-x", False), ("data-dbx-0", False), ("db", False)],
)
def test_claims_of_a_set_are_known_by_their_names(name: str, there: bool) -> None:
    assert ((CLAIM, SPACE, name) in volume_names([stateful()], SPACE)) is there
    assert (CLAIM, "other", name) not in volume_names([stateful()], SPACE)


def test_a_volume_is_known_by_kind_namespace_and_name() -> None:
    here = {"kind": CLAIM, "metadata": {"name": "a"}}
    there = {"kind": CLAIM, "metadata": {"name": "a", "namespace": "other"}}
    nowhere = {"kind": "PersistentVolume", "metadata": {"name": "a", "namespace": "ignored"}}
    found = [identify(obj, SPACE) for obj in (here, there, nowhere)]
    assert found == [(CLAIM, SPACE, "a"), (CLAIM, "other", "a"), ("PersistentVolume", "", "a")]
    assert [title_of(one, SPACE) for one in found] == [
        "PersistentVolumeClaim/a",
        "PersistentVolumeClaim/a in other",
        "PersistentVolume/a",
    ]


@pytest.mark.parametrize(
    ("live", "wanted", "lost"),
    [
        (stateful(3), stateful(1, whenScaled="Delete"), "StatefulSet/db from 3 to 1 replicas"),
        (stateful(3), stateful(None, whenScaled="Delete"), "StatefulSet/db from 3 to 1 replicas"),
        (stateful(3), stateful(3, whenScaled="Delete"), ""),
        (stateful(3, whenScaled="Delete"), stateful(1), ""),
        (stateful(3), stateful(1, whenDeleted="Delete"), ""),
    ],
)
def test_fewer_replicas_lose_claims_where_the_set_says_so(
    live: dict[str, Any], wanted: dict[str, Any], lost: str
) -> None:
    assert claims_lost_by_scaling(live, wanted) == lost


def hook(events: str, policy: str = "", kind: str = CLAIM) -> dict[str, Any]:
    notes = {"helm.sh/hook": events} | ({"helm.sh/hook-delete-policy": policy} if policy else {})
    return {"kind": kind, "metadata": {"name": "a", "annotations": notes}}


@pytest.mark.parametrize(
    ("one", "lost"),
    [
        (hook("pre-install, pre-upgrade"), True),
        (hook("pre-upgrade", "hook-failed,before-hook-creation"), True),
        (hook("pre-upgrade", "before-hook-creation,hook-succeeded"), False),
        (hook("pre-upgrade", "hook-failed"), False),
        (hook("pre-install"), False),
        (hook("pre-upgrade", kind="Job"), False),
        (hook("Pre-Upgrade", "Before-Hook-Creation"), True),
    ],
)
def test_a_claim_that_is_a_hook_is_made_again_by_default(one: dict[str, Any], lost: bool) -> None:
    assert list(hook_claims([one], "upgrade")) == ([one] if lost else [])


def hook_set(events: str, policy: str = "", when_deleted: str = "Delete") -> dict[str, Any]:
    made = stateful(whenDeleted=when_deleted)
    return {**made, "metadata": hook(events, policy)["metadata"]}


@pytest.mark.parametrize(
    ("one", "event", "lost"),
    [
        (hook_set("post-upgrade"), "upgrade", False),
        (hook_set("post-upgrade", "before-hook-creation"), "upgrade", False),
        (hook_set("post-upgrade", "hook-succeeded"), "upgrade", True),
        (hook_set("post-upgrade", "hook-failed"), "upgrade", True),
        (hook_set("pre-upgrade,Post-Upgrade"), "upgrade", True),
        (hook_set("pre-install,post-upgrade"), "upgrade", False),
        (hook_set("post-install", "hook-succeeded"), "upgrade", False),
        (hook_set("post-upgrade", "hook-succeeded", "Retain"), "upgrade", False),
        (hook_set("pre-delete"), "delete", True),
        (hook_set("post-install"), "delete", False),
        (hook("post-upgrade", "hook-succeeded", kind="StatefulSet"), "upgrade", False),
    ],
)
def test_a_set_that_a_hook_makes_and_deletes_takes_its_claims_along(
    one: dict[str, Any], event: str, lost: bool
) -> None:
    assert list(hook_sets([one], event)) == ([one] if lost else [])


def test_a_volume_is_of_the_release_that_helm_or_its_label_names() -> None:
    helms = {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": SPACE}
    assert is_of_release({"annotations": helms}, "web", SPACE)
    assert is_of_release({"labels": {"osctl.dev/kept": "web"}}, "web", SPACE)
    assert not is_of_release({"annotations": helms}, "web", "other")
    assert not is_of_release({}, "web", SPACE)
    assert is_of_another({"annotations": helms}, "web", "other")
    assert not is_of_another({"annotations": helms}, "web", SPACE)
    assert not is_of_another({}, "web", SPACE)
