"""A HelmBundle that is someone's own and has the name of a service is left as it is, and refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.api.conditions import find
from controller.domain.api.names import DEPLOYMENT_LABEL, MANAGED_BY, MANAGED_BY_US, SERVICE_LABEL
from controller.errors import Conflict
from controller.ports.kubernetes import HELMBUNDLE, OSDPL
from controller.reconcile.region.bundle_writer import BundleWriter
from controller.reconcile.region.deployment import DeploymentReconciler
from tests.fakes.kube import FakeKube, Request
from tests.reconcile.region.test_deployment import (
    KEY,
    clock,
    core,
    edit,
    events,
    kube,
    osdpl,
    status,
)

__all__ = ["clock", "core", "events", "kube"]


def condition(kube: FakeKube, type_: str) -> dict[str, Any]:
    return dict(find(status(kube)["conditions"], type_))


SHOP = {"name": "shop", "chart": {"name": "shop", "path": "shop"}}


def persons_bundle(name: str = "image", labels: dict[str, str] | None = None) -> dict[str, Any]:
    return {
        "apiVersion": HELMBUNDLE.api_version,
        "kind": HELMBUNDLE.kind,
        "metadata": {"name": name, "namespace": KEY[0], "labels": labels or {}},
        "spec": {"mode": "Paused", "volumes": "Retain", "releases": [SHOP]},
    }


def bundle(kube: FakeKube, name: str = "image") -> dict[str, Any] | None:
    return kube.get(HELMBUNDLE, name, KEY[0])


def settle(core: DeploymentReconciler) -> None:
    for _ in range(3):
        core.reconcile(KEY)


@pytest.mark.parametrize("name", ["image", "dns", "database"])
def test_it_is_left_as_it_is(core: DeploymentReconciler, kube: FakeKube, name: str) -> None:
    mine = kube.create(persons_bundle(name))
    kube.create(osdpl(volumes="Delete", features={"services": {"enabled": ["dns"]}}))
    settle(core)
    assert bundle(kube, name) == mine


def test_the_other_services_are_served(core: DeploymentReconciler, kube: FakeKube) -> None:
    kube.create(persons_bundle())
    kube.create(osdpl())
    settle(core)
    assert bundle(kube, "identity") is not None


def test_the_status_names_the_bundle_and_the_remedy(core: DeploymentReconciler, kube: FakeKube) -> None:
    kube.create(persons_bundle())
    kube.create(osdpl())
    settle(core)
    for type_ in ("SpecValid", "Ready"):
        found = condition(kube, type_)
        assert (found["status"], found["reason"]) == ("False", "BundleNameTaken")
        assert "HelmBundle image" in found["message"]
        assert "delete hb image" in found["message"]


def test_nothing_is_planned_beside_it(core: DeploymentReconciler, kube: FakeKube) -> None:
    mine = kube.create(persons_bundle())
    kube.create(osdpl(mode="Plan"))
    settle(core)
    found = condition(kube, "Planned")
    assert (found["status"], found["reason"]) == ("False", "BundleNameTaken")
    assert "digest" not in status(kube).get("plan", {})
    assert kube.objects("HelmBundle") == [mine]


def test_once_it_has_gone_the_service_is_served(core: DeploymentReconciler, kube: FakeKube) -> None:
    kube.create(persons_bundle())
    kube.create(osdpl())
    settle(core)
    kube.delete(HELMBUNDLE, "image", KEY[0])
    assert core.reconcile(KEY) == pytest.approx(300)
    assert condition(kube, "SpecValid")["status"] == "True"
    found = bundle(kube)
    assert found is not None and found["metadata"]["labels"][SERVICE_LABEL] == "image"


def test_another_look_comes_soon(core: DeploymentReconciler, kube: FakeKube) -> None:
    kube.create(persons_bundle())
    kube.create(osdpl())
    again = core.reconcile(KEY)
    assert again is not None and again <= 30


def test_it_stays_when_the_region_goes(core: DeploymentReconciler, kube: FakeKube) -> None:
    mine = kube.create(persons_bundle())
    kube.create(osdpl(volumes="Delete"))
    settle(core)
    kube.delete(OSDPL, KEY[1], KEY[0])
    settle(core)
    assert bundle(kube) == mine


def test_one_whose_labels_a_person_took_off_is_a_persons(core: DeploymentReconciler, kube: FakeKube) -> None:
    kube.create(osdpl())
    settle(core)
    kube.merge_patch(HELMBUNDLE, "image", KEY[0], {"metadata": {"labels": {MANAGED_BY: None}}})
    theirs = bundle(kube)
    edit(kube, features={"services": {"disabled": ["image"]}})
    settle(core)
    assert bundle(kube) == theirs


def test_put_back_as_the_message_says_the_labels_make_it_the_regions(
    core: DeploymentReconciler, kube: FakeKube
) -> None:
    kube.create(osdpl())
    settle(core)
    labels = {MANAGED_BY: None, DEPLOYMENT_LABEL: None, SERVICE_LABEL: None}
    kube.merge_patch(HELMBUNDLE, "image", KEY[0], {"metadata": {"labels": labels}})
    settle(core)
    said = condition(kube, "SpecValid")["message"].rpartition("hb image ")[2].split()
    put_back = dict(one.split("=") for one in said)
    kube.merge_patch(HELMBUNDLE, "image", KEY[0], {"metadata": {"labels": put_back}})
    settle(core)
    assert condition(kube, "SpecValid")["status"] == "True"


def test_one_of_a_region_that_is_gone_is_taken_up(core: DeploymentReconciler, kube: FakeKube) -> None:
    labels = {MANAGED_BY: MANAGED_BY_US, DEPLOYMENT_LABEL: "region-before", SERVICE_LABEL: "image"}
    kube.create({**persons_bundle(labels=labels), "spec": {"releases": []}})
    kube.create(osdpl())
    settle(core)
    found = bundle(kube)
    assert found is not None and found["metadata"]["labels"][DEPLOYMENT_LABEL] == KEY[1]
    assert condition(kube, "SpecValid")["status"] == "True"


def test_one_of_another_region_that_is_there_is_not(core: DeploymentReconciler, kube: FakeKube) -> None:
    kube.create(osdpl())
    settle(core)
    kube.create(osdpl("region-two"))
    labels = {MANAGED_BY: MANAGED_BY_US, DEPLOYMENT_LABEL: "region-two", SERVICE_LABEL: "dns"}
    theirs = kube.create(persons_bundle("dns", labels))
    edit(kube, features={"services": {"enabled": ["dns"]}})
    settle(core)
    assert bundle(kube, "dns") == theirs


def test_one_that_is_made_right_before_ours_is_not_taken_over(kube: FakeKube) -> None:
    ours = {**persons_bundle(), "spec": {"mode": "Apply", "volumes": "Delete", "releases": []}}
    made: list[Any] = []

    def person_is_first(request: Request) -> None:
        kube.before_write = lambda _: None
        made.append(kube.create(persons_bundle()))

    kube.before_write = person_is_first
    with pytest.raises(Conflict):
        BundleWriter(kube).write([ours], {})
    assert kube.objects("HelmBundle") == made


def test_one_that_was_made_in_the_place_of_ours_is_not_written_to(kube: FakeKube) -> None:
    labels = {MANAGED_BY: MANAGED_BY_US, DEPLOYMENT_LABEL: KEY[1], SERVICE_LABEL: "image"}
    ours = kube.create({**persons_bundle(labels=labels), "spec": {"releases": []}})
    kube.delete(HELMBUNDLE, "image", KEY[0])
    theirs = kube.create(persons_bundle())
    wanted = {**persons_bundle(labels=labels), "spec": {"mode": "Apply", "volumes": "Delete", "releases": []}}
    with pytest.raises(Conflict):
        BundleWriter(kube).write([wanted], {"image": ours})
    assert bundle(kube) == theirs
