"""Stores of volumes by what their volumes are for who attaches one. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

# By the names of Cinder's drivers (cinder/volume/drivers), modules and classes.
_DRIVER = re.compile(
    r"iscsi|fibre|nvme|(?<![a-z])fc(?![a-z])|fcdriver|solidfire|lightos|drivers\.lvm\.", re.IGNORECASE
)
# Drivers that speak several protocols have an option for it: storage_protocol, netapp_storage_protocol,
# infinidat_storage_protocol, connection_type.
_OPTION = re.compile(r"protocol$|^connection_type$")
_PROTOCOL = re.compile(r"iscsi|iser|fcp?|fibre.?channel|nvme.*", re.IGNORECASE)


def on_host(backends: Iterable[Mapping[str, Any]]) -> bool:
    """Whether volumes of any of the stores are devices of the node where one is attached: by iSCSI, Fibre
    Channel or NVMe. Who attaches them needs the node's devices, and its network: there its iscsid answers."""
    return any(
        store["type"] == "lvm" or (store["type"] == "custom" and is_device_driver(store["conf"] or {}))
        for store in backends
    )


def is_device_driver(conf: Mapping[str, Any]) -> bool:
    """Whether options of a store are those of a driver whose volumes are devices of the node."""
    if _DRIVER.search(str(conf.get("volume_driver"))):
        return True
    return any(
        isinstance(value, str) and _OPTION.search(option) and _PROTOCOL.fullmatch(value.strip())
        for option, value in conf.items()
    )
