"""Stores whose volumes are devices of the node are known by their drivers."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.values.written.volume_stores import is_device_driver, on_host

DRIVERS = "cinder.volume.drivers"


@pytest.mark.parametrize(
    "conf",
    [
        {"volume_driver": f"{DRIVERS}.pure.PureISCSIDriver"},
        {"volume_driver": f"{DRIVERS}.dell_emc.powermax.fc.PowerMaxFCDriver"},
        {"volume_driver": f"{DRIVERS}.hpe.hpe_3par_fc.HPE3PARFCDriver"},
        {"volume_driver": f"{DRIVERS}.pure.PureNVMEDriver"},
        {"volume_driver": f"{DRIVERS}.solidfire.SolidFireDriver"},
        {"volume_driver": f"{DRIVERS}.netapp.common.NetAppDriver", "netapp_storage_protocol": "iscsi"},
        {"volume_driver": f"{DRIVERS}.dell_emc.powerstore.driver.PowerStoreDriver", "storage_protocol": "FC"},
        {"volume_driver": f"{DRIVERS}.ibm.ibm_storage.IBMStorageDriver", "connection_type": "fibre_channel"},
    ],
    ids=lambda conf: str(conf["volume_driver"]).rpartition(".")[2],
)
def test_a_driver_of_iscsi_fibre_channel_or_nvme_makes_devices(conf: dict[str, Any]) -> None:
    assert is_device_driver(conf)
    assert on_host([{"type": "custom", "conf": conf}])


@pytest.mark.parametrize(
    "conf",
    [
        {},
        {"volume_driver": None},
        {"volume_driver": {"$secretRef": {"name": "a", "key": "b"}}},
        {"volume_driver": f"{DRIVERS}.quobyte.QuobyteDriver"},
        {"volume_driver": f"{DRIVERS}.netapp.common.NetAppDriver", "netapp_storage_protocol": "nfs"},
        {"volume_driver": f"{DRIVERS}.rbd.RBDDriver", "san_login": "iscsi"},
        {"volume_driver": f"{DRIVERS}.netapp.common.NetAppDriver", "netapp_storage_protocol": 1},
    ],
)
def test_a_driver_of_files_or_of_its_own_client_makes_none(conf: dict[str, Any]) -> None:
    assert not is_device_driver(conf)


def test_volumes_of_lvm_are_devices_and_those_of_ceph_and_nfs_are_not() -> None:
    stores = [{"type": "ceph", "conf": {}}, {"type": "nfs", "conf": {}}, {"type": "custom", "conf": None}]
    assert not on_host(stores)
    assert on_host([*stores, {"type": "lvm", "conf": {}}])
