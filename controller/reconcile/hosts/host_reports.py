"""What is reported of each Node's host, for `status.nodes`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from controller.domain.api.reasons import Reason
from controller.domain.hosts.host_facts import HostFacts, NextStep, Step
from controller.domain.hosts.node_policy import NodePolicy
from controller.domain.hosts.nodes_status import HostReport
from controller.domain.shared.cloud_facts import CloudView
from controller.reconcile.hosts.drain_locks.pods import LockedNodes
from controller.reconcile.hosts.observe import NodesSnapshot
from controller.reconcile.hosts.present_hosts import LATELY

UNREGISTERED = "not registered"


def host_reports(
    snapshot: NodesSnapshot,
    view: CloudView,
    decided: Iterable[tuple[HostFacts, NextStep]],
    *,
    locks: LockedNodes,
    misplaced: Mapping[str, str],
    refused: Mapping[str, str],
) -> dict[str, HostReport]:
    """By name of the Node. `locks`: why drains are held back; `misplaced`: why a host is not in its place;
    `refused`: what cannot be cleared away on it."""
    reports = {host.name: _report(host, decision, snapshot.policy) for host, decision in decided}
    for name, node in snapshot.nodes.items():
        host = snapshot.host(name, view)
        if name not in reports and view.agents_on(host):
            # A node for networks only: what is on it is to be known when it is gone.
            reports[name] = HostReport(uid=node.uid, host=host)
        elif name not in reports and (doubt := snapshot.matches(view).doubts.get(name)):
            reports[name] = HostReport(str(Reason.HOST_AMBIGUOUS), doubt, uid=node.uid)
    for name, why in misplaced.items():
        reports[name] = replace(reports.get(name, HostReport()), misplaced=why)
    for name in reports.keys() & refused.keys():
        reports[name] = replace(reports[name], refused=refused[name])
    return with_locks(reports, locks)


def with_locks(reports: Mapping[str, HostReport], locks: LockedNodes) -> dict[str, HostReport]:
    """The reports, with what is reported of the locks now."""
    names = reports.keys() | locks.reasons.keys() | locks.failing.keys()
    result = {}
    for name in names:
        why = locks.failing.get(name, "")
        failing = f"drains should be blocked, but are not: {why}" if why else ""
        known = reports.get(name, HostReport())
        result[name] = replace(known, drain_locked=locks.reasons.get(name, ""), drain_failing=failing)
    return result


def _report(host: HostFacts, decision: NextStep, policy: NodePolicy) -> HostReport:
    node, uid = host.node, host.known_uid
    # What died with the machine before still counts as up for a while.
    settled = host.is_settled and host.own_compute and host.node_known_for >= max(policy.hold_down, LATELY)
    if node is not None and (settled or not uid):
        uid = node.uid
    forget = decision.step == Step.FORGET
    return HostReport(
        reason="" if forget else str(decision.reason),
        message="" if forget else decision.message,
        uid=uid,
        host=host.host,
        compute="" if forget or not host.was_compute else _words(host),
        servers=host.servers if host.was_compute else None,
        maintenance=host.maintenance,
        forget=forget,
    )


def _words(host: HostFacts) -> str:
    """What OpenStack says of the compute service, as `disabled, down, forced down`."""
    service = host.service
    if service is None:
        return UNREGISTERED
    words = ["enabled" if service.enabled else "disabled", "up" if service.up else "down"]
    return ", ".join(words + (["forced down"] if service.forced_down else []))
