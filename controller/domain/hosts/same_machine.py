"""All possible Nodes of a machine, with a role of the region or without.

Pure. A kubelet that joins under another name leaves its old Node silent, which looks like a machine that is
off. An evacuation, or the deletion of its pods, must consider the other Node, whatever its role.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from controller.domain.hosts.host_names import address, match_hosts
from controller.domain.hosts.nodes import NodeFacts
from controller.domain.shared.cloud_facts import CloudView


@dataclass(frozen=True)
class SameMachine:
    """Finds other Nodes of the machine that is `host` in OpenStack and the Node `node`.

    `remembered`: hosts that Nodes were known to be; `view`: of OpenStack.
    """

    node: str
    host: str
    remembered: Mapping[str, str]
    view: CloudView

    def among(self, nodes: Collection[NodeFacts]) -> tuple[NodeFacts, ...]:
        """The possible Nodes, in order of `nodes`; rather too many than too few: by their names if these
        are in doubt, and by an address. A Node that a person assigned to another host is excluded.
        """
        matches = match_hosts((one.names for one in nodes), self.remembered, self.view)
        addresses = {address(one.address) for one in self.view.hypervisors if one.host == self.host} - {""}
        addresses |= {text for one in nodes if one.name == self.node for text in one.names.addresses}
        found = []
        for one in nodes:
            if one.name == self.node:
                continue
            if one.names.stated:
                same = one.names.stated == self.host
            else:
                matched = {matches.host(one.name), *matches.candidates.get(one.name, ())}
                same = self.host in matched or bool(one.names.addresses & addresses)
            if same:
                found.append(one)
        return tuple(found)
