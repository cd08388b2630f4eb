"""Runs inside the cloud's virtual environment: reports the state of network agents over the message bus.

    agents.py DIRECTORY NEUTRON_CONF

Each file in DIRECTORY is one agent that lives: `HOST.KIND` with KIND of `ovs`, `l3`, `dhcp`, `metadata`. A
file that is removed is an agent that fell silent. The reports are those of Neutron's own agents.
"""

import datetime
import pathlib
import sys
import time

from neutron.agent import rpc as agent_rpc
from neutron.common import config
from neutron.conf.agent import common as agent_options
from neutron_lib import constants, context
from neutron_lib.agent import topics
from oslo_config import cfg

EVERY = 3.0
KINDS = {
    "ovs": ("neutron-openvswitch-agent", constants.AGENT_TYPE_OVS, constants.L2_AGENT_TOPIC),
    "l3": ("neutron-l3-agent", constants.AGENT_TYPE_L3, topics.L3_AGENT),
    "dhcp": ("neutron-dhcp-agent", constants.AGENT_TYPE_DHCP, topics.DHCP_AGENT),
    "metadata": ("neutron-metadata-agent", constants.AGENT_TYPE_METADATA, "N/A"),
}
SETTINGS = {
    "ovs": {"tunneling_ip": "127.0.0.1", "tunnel_types": ["vxlan"], "bridge_mappings": {}},
    "l3": {"agent_mode": "legacy", "handle_internal_only_routers": True, "interface_driver": "openvswitch"},
    "dhcp": {"dhcp_driver": "dnsmasq", "dhcp_lease_duration": 86400},
    "metadata": {},
}


def state(host, kind, first):
    """What an agent of that kind says of itself."""
    binary, agent_type, topic = KINDS[kind]
    return {
        "binary": binary,
        "host": host,
        "topic": topic,
        "agent_type": agent_type,
        "configurations": SETTINGS[kind],
        "start_flag": first,
    }


def main(directory, configuration):
    config.register_common_config_options()
    agent_options.register_agent_state_opts_helper(cfg.CONF)
    config.init(["--config-file", configuration])
    reports = agent_rpc.PluginReportStateAPI(topics.REPORTS)
    everything = context.get_admin_context_without_session()
    known = set()
    while True:
        alive = {tuple(path.name.rsplit(".", 1)) for path in pathlib.Path(directory).iterdir()}
        for host, kind in sorted(alive):
            if kind not in KINDS:
                continue
            began = datetime.datetime.now()
            try:
                reports.report_state(everything, state(host, kind, (host, kind) not in known), True)
                known.add((host, kind))
            except Exception as error:  # noqa: BLE001 - one agent that cannot report must not silence the others
                print(f"{began:%H:%M:%S} {host} {kind}: {error}", file=sys.stderr, flush=True)
        known &= alive
        time.sleep(EVERY)


if __name__ == "__main__":
    main(*sys.argv[1:])
