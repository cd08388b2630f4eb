"""What stands under the name of one of the controller's records, and is another's, is left as it is."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.api.names import COPIES_CONFIGMAP, MANAGED_BY, MANAGED_BY_US
from controller.domain.shared.cloud_facts import ComputeService
from controller.errors import ObjectRefused
from controller.ports.kubernetes import CONFIGMAP, KubeObject
from controller.reconcile.hosts import disk_records, forced_down
from controller.reconcile.hosts.disk_records import DiskRecords
from controller.reconcile.hosts.forced_down import ForcedDownHosts
from controller.reconcile.shared.own_record import own_record
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock

NS = "openstack"
NAMES = (disk_records.NAME, forced_down.NAME, COPIES_CONFIGMAP)


def foreign(kube: FakeKube, name: str, **labels: str) -> KubeObject:
    meta: dict[str, Any] = {"name": name, "namespace": NS, "labels": labels}
    return kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "b"}})


@pytest.mark.parametrize("name", NAMES)
def test_a_config_map_of_others_is_no_record(name: str) -> None:
    kube = FakeKube()
    foreign(kube, name)
    with pytest.raises(ObjectRefused, match=f"ConfigMap {name} .* belongs to another program"):
        own_record(kube, name, NS)


def test_one_that_carries_our_label_is() -> None:
    kube = FakeKube()
    made = foreign(kube, NAMES[0], **{MANAGED_BY: MANAGED_BY_US})
    assert own_record(kube, NAMES[0], NS) == made
    assert own_record(kube, NAMES[1], NS) is None


def test_no_host_is_forced_down_that_cannot_be_noted() -> None:
    kube = FakeKube()
    theirs = foreign(kube, forced_down.NAME)
    service = ComputeService("1", "cmp1", enabled=True, up=True)
    with pytest.raises(ObjectRefused):
        ForcedDownHosts(kube, FakeClock(), NS).remember("cmp1", service)
    assert kube.get(CONFIGMAP, forced_down.NAME, NS) == theirs


def test_nothing_is_known_of_disks_from_a_config_map_of_others() -> None:
    kube = FakeKube()
    theirs = foreign(kube, disk_records.NAME)
    with pytest.raises(ObjectRefused):
        DiskRecords(kube, FakeClock(), NS).read()
    assert kube.get(CONFIGMAP, disk_records.NAME, NS) == theirs
