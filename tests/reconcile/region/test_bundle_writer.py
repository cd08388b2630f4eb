"""What core writes to a bundle is meant for that very one, whatever helmbundle writes beside it."""

from __future__ import annotations

from typing import Any

import pytest

from controller.ports.kubernetes import HELMBUNDLE
from controller.reconcile.region.bundle_writer import BundleWriter
from tests.fakes.kube import FakeKube
from tests.reconcile.watched import DEFINITIONS

NAMESPACE = "openstack"
BUNDLE: dict[str, Any] = {
    "apiVersion": HELMBUNDLE.api_version,
    "kind": HELMBUNDLE.kind,
    "metadata": {"name": "database", "namespace": NAMESPACE},
    "spec": {"volumes": "Delete", "releases": []},
}


@pytest.fixture
def kube() -> FakeKube:
    kube = FakeKube()
    for definition in DEFINITIONS:
        kube.serve(definition)
    return kube


def volumes(kube: FakeKube) -> str:
    [found] = kube.objects("HelmBundle")
    return str(found["spec"]["volumes"])


def test_it_reaches_a_bundle_whose_status_was_written_since_it_was_listed(kube: FakeKube) -> None:
    listed = kube.create(BUNDLE)
    kube.merge_patch(
        HELMBUNDLE, "database", NAMESPACE, {"status": {"observedGeneration": 1}}, subresource="status"
    )
    [after] = BundleWriter(kube).spare([listed], "Retain")
    assert volumes(kube) == after["spec"]["volumes"] == "Retain"


@pytest.mark.parametrize("made_again", [True, False])
def test_another_bundle_that_has_its_name_by_now_is_left_as_it_is(kube: FakeKube, made_again: bool) -> None:
    listed = kube.create(BUNDLE)
    kube.delete(HELMBUNDLE, "database", NAMESPACE)
    if made_again:
        kube.create(BUNDLE)
    assert BundleWriter(kube).spare([listed], "Retain") == [listed]
    assert not made_again or volumes(kube) == "Delete"
