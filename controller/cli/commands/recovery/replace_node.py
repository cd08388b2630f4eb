"""osctl node replace: the steps from a dead machine to a new one, in their order."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import typer

from controller.cli.cluster import Cluster, open_cluster
from controller.cli.commands.node import Node, confirmation_for, wait_for_work
from controller.cli.exit_codes import ExitCode
from controller.cli.maintenance_objects import change, create, maintenances_of, named_for, wait_until_gone
from controller.cli.maintenance_options import ModeWord
from controller.cli.options import DEFAULT_TIMEOUT, Context, Kubeconfig, Region, Timeout
from controller.cli.output import soft_wrapped, stderr, stdout
from controller.domain.api.region_name import RegionName
from controller.domain.hosts.fencing_confirmation import machine_of
from controller.domain.maintenance.move_choice import Mode
from controller.errors import ObjectMissing
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, NODE, KubeObject

_OF_KUBERNETES = re.compile(r"(^|\.)(kubernetes|k8s)\.io/")


def replace_node(
    node: Node,
    *,
    off: Annotated[
        bool, typer.Option("--off", help="Confirm that you have checked that its machine is off now.")
    ] = False,
    delete_node: Annotated[
        bool, typer.Option("--delete-node", help="Delete the Node without a question, once it is empty.")
    ] = False,
    timeout: Timeout = DEFAULT_TIMEOUT,
    region: Region = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Replace a dead machine: confirm that it is off, start its servers elsewhere, delete its Node, end its
    maintenance, and say how the new machine joins. Repeat the command after an interruption; it begins at the
    step that is not done. Without --off nothing is changed.
    """
    cluster = open_cluster(kubeconfig, context, "")
    steps = _Steps(cluster, cluster.choose_region(region), node)
    live = steps.node_object()
    maintenances = maintenances_of(cluster, node, steps.region)
    if live is None and not maintenances:
        raise ObjectMissing(f'there is no node "{node}", and no maintenance of it: nothing is left to do')
    labels = _given_labels(live)
    if live is not None:
        if machine_of(live).ready == "True":
            raise ObjectMissing(
                f'the node "{node}" is Ready: move its servers with osctl node maintain {node}'
            )
        if not off:
            steps.show(live, maintenances)
            raise typer.Exit(ExitCode.NEEDS_EDIT)
        steps.evacuate(timeout)
        steps.delete_node(live, asked=delete_node)
    steps.end_maintenances(timeout)
    _show_end(node, labels)


@dataclass(frozen=True)
class _Steps:
    cluster: Cluster
    region: RegionName
    node: str

    def node_object(self) -> KubeObject | None:
        return self.cluster.kube.get(NODE, self.node)

    def show(self, live: KubeObject, maintenances: list[KubeObject]) -> None:
        """What would be done, for a person who has not looked at the machine yet."""
        begun = any(one["spec"].get("mode") == Mode.EVACUATE for one in maintenances)
        lines = (
            f"{self.node} is not ready: {machine_of(live).words}",
            "1. switch the machine off, and check that it is off",
            f"2. confirm it: osctl node replace {self.node} --off",
            f"3. its servers are started on other hosts{' (has begun)' if begun else ''}",
            f"4. the Node {self.node} is deleted, and with it its services in OpenStack",
            "5. its maintenance ends",
            "6. the new machine joins with the same labels",
        )
        for line in lines:
            stdout().print(soft_wrapped(line))

    def evacuate(self, timeout: float) -> None:
        """Until no server is left. Raises Exit if a person has to act, and at the deadline."""
        name, known = named_for(self.cluster, self.node, self.region)
        others = maintenances_of(self.cluster, self.node, self.region)
        known = next((one for one in others if one["spec"].get("mode") == Mode.EVACUATE), known)
        fields = {}
        if not _is_confirmed(known):
            space = self.region.namespace
            fields = confirmation_for(self.cluster, space, self.node, ModeWord.EVACUATE, known)
        if known is None:
            create(self.cluster, name, self.region, node=self.node, mode=Mode.EVACUATE, **fields)
            stderr().print(f"computemaintenance/{name} made")
        else:
            name = known["metadata"]["name"]
            desired = {"mode": Mode.EVACUATE, **fields}
            changed = change(self.cluster, known, self.region, node=self.node, desired=desired)
            stderr().print(f"computemaintenance/{name} {changed}")
        wait_for_work(self.cluster, name, timeout)

    def delete_node(self, live: KubeObject, *, asked: bool) -> None:
        """Only the Node that was confirmed, and only while it is not ready."""
        if not asked and not (
            sys.stdin.isatty() and typer.confirm(f"Delete the Node {self.node}?", err=True)
        ):
            text = f"no server is left on {self.node}; delete its Node with --delete-node"
            stderr().print(soft_wrapped(text))
            raise typer.Exit(ExitCode.NEEDS_EDIT)
        now = self.node_object()
        if now is not None and machine_of(now).ready == "True":
            raise ObjectMissing(f'the node "{self.node}" is Ready again, so it is not deleted')
        self.cluster.kube.delete(NODE, self.node, uid=live["metadata"]["uid"])
        stderr().print(f"node/{self.node} deleted")

    def end_maintenances(self, timeout: float) -> None:
        """A maintenance that stays would take a new machine of that name out of service."""
        for one in maintenances_of(self.cluster, self.node, self.region):
            name, uid = one["metadata"]["name"], one["metadata"]["uid"]
            self.cluster.kube.delete(COMPUTE_MAINTENANCE, name, uid=uid)
            if wait_until_gone(self.cluster, name, uid, timeout) is not None:
                stderr().print(soft_wrapped(f"computemaintenance/{name} is not gone yet; repeat the command"))
                raise typer.Exit(ExitCode.NOT_READY)
            stderr().print(f"computemaintenance/{name} is gone")


def _is_confirmed(maintenance: KubeObject | None) -> bool:
    """Whether an evacuation that was begun needs no other confirmation."""
    spec, status = ((maintenance or {}).get(part) or {} for part in ("spec", "status"))
    accepted = status.get("fenced") or {}
    return spec.get("mode") == Mode.EVACUATE and bool(spec.get("fenced")) and not accepted.get("void")


def _given_labels(live: KubeObject | None) -> Mapping[str, str]:
    """The labels that a person gave: those of Kubernetes come with the new machine."""
    labels = (live or {"metadata": {}})["metadata"].get("labels") or {}
    return {key: str(value) for key, value in sorted(labels.items()) if not _OF_KUBERNETES.search(key)}


def _show_end(node: str, labels: Mapping[str, str]) -> None:
    given = " ".join(f"{key}={value}" for key, value in labels.items())
    stdout().print(
        soft_wrapped(f"{node} is removed. Join the new machine to the cluster, then label its Node:")
    )
    stdout().print(soft_wrapped(f"  kubectl label node NAME {given or 'LABEL=enabled'}"))
    stdout().print("Its state afterwards: osctl node why NAME")
