"""Runs inside Neutron: an ML2 driver that binds any port on any host and wires it without an agent.

A port that moves (migration, evacuation) is turned DOWN by Neutron until the agent of its new host reports
it. No agent wires anything here, so a timer reports in its place.
"""

import threading

from neutron_lib import constants, context
from neutron_lib.api.definitions import portbindings
from neutron_lib.plugins import directory
from neutron_lib.plugins.ml2 import api

WIRED_AFTER = 0.3


class LoopbackDriver(api.MechanismDriver):
    """Binds as Open vSwitch would."""

    connectivity = portbindings.CONNECTIVITY_L2

    def initialize(self):
        self._details = {
            portbindings.CAP_PORT_FILTER: True,
            portbindings.OVS_HYBRID_PLUG: False,
            portbindings.VIF_DETAILS_CONNECTIVITY: self.connectivity,
        }

    def bind_port(self, context):
        segment = next(iter(context.segments_to_bind), None)
        if segment is not None:
            context.set_binding(
                segment[api.ID],
                portbindings.VIF_TYPE_OVS,
                dict(self._details),
                status=constants.PORT_STATUS_ACTIVE,
            )

    def update_port_postcommit(self, context):
        port = context.current
        bound = context.host and context.vif_type == portbindings.VIF_TYPE_OVS
        if bound and port["admin_state_up"] and port["status"] == constants.PORT_STATUS_DOWN:
            threading.Timer(WIRED_AFTER, _wire, (port["id"], context.host)).start()


def _wire(port_id, host):
    directory.get_plugin().update_port_status(
        context.get_admin_context(), port_id, constants.PORT_STATUS_ACTIVE, host
    )
