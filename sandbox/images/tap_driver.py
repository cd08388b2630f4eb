"""Runs inside Neutron: an ML2 driver for a real hypervisor, without an agent.

Nova makes a device for each port by itself, and it leads nowhere: a server has its interfaces and no network.
"""

from neutron_lib import constants
from neutron_lib.api.definitions import portbindings
from neutron_lib.plugins.ml2 import api


class TapDriver(api.MechanismDriver):
    """Binds any port on any host, and says at once that it is wired."""

    connectivity = portbindings.CONNECTIVITY_L2

    def initialize(self):
        self._details = {portbindings.CAP_PORT_FILTER: False}

    def bind_port(self, context):
        segment = next(iter(context.segments_to_bind), None)
        if segment is not None:
            context.set_binding(
                segment[api.ID],
                portbindings.VIF_TYPE_TAP,
                dict(self._details),
                status=constants.PORT_STATUS_ACTIVE,
            )
