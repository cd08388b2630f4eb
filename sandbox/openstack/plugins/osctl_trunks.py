"""Runs inside Neutron: its own service plugin for trunks, for ports that no agent wires."""

from neutron.services.trunk import plugin
from neutron.services.trunk.drivers import base
from neutron_lib.api.definitions import portbindings
from neutron_lib.services.trunk import constants


class LoopbackTrunks(base.DriverBase):
    """Takes the trunks of ports that the mechanism driver of this cloud binds."""

    is_loaded = True


class TrunkPlugin(plugin.TrunkPlugin):
    """Neutron's own drivers for trunks want the mechanism drivers of their name."""

    def __init__(self):
        interfaces, types = (portbindings.VIF_TYPE_OVS,), (constants.SEGMENTATION_TYPE_VLAN,)
        self._loopback = LoopbackTrunks("osctl_loopback", interfaces, types)
        super().__init__()
