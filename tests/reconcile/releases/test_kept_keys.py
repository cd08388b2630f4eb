"""Keys that a hook made and Helm keeps: the next install takes them up, whichever chart source it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller.domain.api.names import HELM_FIELD_MANAGER
from controller.ports.helm import RenderedRelease
from controller.ports.kubernetes import SECRET
from controller.reconcile.releases.actions.object_owners import ObjectOwners, OwnerGuard
from tests.reconcile.bundles import NAMESPACE, Bench

NAME = "keystone-fernet-keys"
KEPT = {"helm.sh/hook": "pre-install", "helm.sh/resource-policy": "keep"}
LABELS = {"application": "keystone", "release_group": "keystone"}
KEYS = {"0": "bWFkZQ==", "1": "ZWFybGllcg=="}


def secret(
    *, labels: Mapping[str, str] | None = None, notes: Mapping[str, str] = KEPT, **more: Any
) -> dict[str, Any]:
    meta = {"name": NAME, "annotations": dict(notes), **({"labels": dict(labels)} if labels else {})}
    return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": meta, **more}


def observe(live: dict[str, Any], rendered: dict[str, Any]) -> ObjectOwners:
    """What an install of Keystone finds, where a release that is gone has left `live`."""
    bench = Bench()
    made = {key: value for key, value in live.items() if key != "data"}
    bench.kube.apply(
        {**made, "metadata": {**live["metadata"], "namespace": NAMESPACE}}, manager=HELM_FIELD_MANAGER
    )
    if "data" in live:
        # A Job fills them.
        bench.kube.merge_patch(SECRET, NAME, NAMESPACE, {"data": live["data"]})
    guard = OwnerGuard(bench.kube, bench.helm, "keystone", NAMESPACE)
    found = guard.observe(RenderedRelease((), (rendered,)), "Install")
    assert (bench.kube.get(SECRET, NAME, NAMESPACE) or {}).get("data") == live.get("data")
    return found


@pytest.mark.parametrize("data", [KEYS, None], ids=["with keys", "empty"])
def test_keys_that_one_chart_has_labelled_are_taken_up_by_one_that_has_not(data: Any) -> None:
    live = secret(labels=LABELS, **({"data": data} if data else {}))
    assert observe(live, secret(data={})) == ObjectOwners((), ())


@pytest.mark.parametrize("data", [KEYS, None], ids=["with keys", "empty"])
def test_keys_that_no_label_describes_are_taken_up_by_a_chart_that_labels_them(data: Any) -> None:
    live = secret(**({"data": data} if data else {}))
    assert observe(live, secret(labels=LABELS)) == ObjectOwners((), ())


def test_keys_that_the_next_chart_would_overwrite_are_refused() -> None:
    [text, _] = observe(secret(labels=LABELS, data=KEYS), secret(data={"0": "b3RoZXI="})).taken
    assert text == f"Secret/{NAME} exists already, has no owner and differs"


def test_keys_whose_label_names_another_release_are_refused() -> None:
    live = secret(labels={"release_group": "other", "more": "labels"}, data=KEYS)
    assert observe(live, secret(data={})).taken
    assert observe(live, secret(labels=LABELS)).taken


def test_a_secret_that_no_hook_made_is_refused() -> None:
    """A person made it, or the chart does not say that it is kept."""
    for notes in ({}, {"helm.sh/hook": "pre-install"}, {"helm.sh/resource-policy": "keep"}):
        assert observe(secret(labels={"my": "own"}, notes=notes, data=KEYS), secret(data={})).taken
    live = secret(labels={"my": "own"}, data=KEYS)
    assert observe(live, secret(notes={"helm.sh/hook": "pre-install"})).taken
