"""osctl node: the nodes of a region, and their maintenance."""

from __future__ import annotations

import secrets
from typing import Annotated

import typer
from rich.text import Text

from controller.adapters.system.clock import SystemClock
from controller.cli.cluster import Cluster, open_cluster
from controller.cli.exit_codes import ExitCode
from controller.cli.maintenance_objects import (
    change,
    create,
    maintenances_of,
    message_of,
    named_for,
    print_result,
    wait_for_phase,
    wait_until_gone,
)
from controller.cli.maintenance_options import (
    Deadline,
    LocalDisks,
    ModeWord,
    NodesPerAggregate,
    OnUnmovable,
    Retries,
    ServerDeadline,
    ServersPerNode,
    ServersPerRegion,
    fields_of,
    mode_of,
)
from controller.cli.options import DEFAULT_TIMEOUT, Context, Kubeconfig, Namespace, Output, Region, Timeout
from controller.cli.output import Format, print_data, print_table, soft_wrapped, stderr, stdout
from controller.cli.views.node import network_rows, node_causes, node_rows, plan_rows, plan_summary
from controller.cli.waiting import PLAN_WITHIN
from controller.domain.api.conditions import timestamp
from controller.domain.api.names import DISKS_ANNOTATION, FENCED_ANNOTATION, REPORT_ANNOTATION
from controller.domain.api.region_name import RegionName, node_note, node_notes
from controller.domain.hosts.fencing_confirmation import Confirmation, Machine, given_as, machine_of
from controller.domain.hosts.nodes import machine_facts, parse_node
from controller.domain.maintenance.move_choice import Mode
from controller.domain.maintenance.server_moves import Phase
from controller.errors import ObjectMissing
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, NODE, KubeObject

app = typer.Typer(no_args_is_help=True, help="The nodes of a region: their state and maintenance.")
Node = Annotated[str, typer.Argument(help="Name of the node.", show_default=False)]


ModeOption = Annotated[
    ModeWord, typer.Option("--mode", help="What happens to its servers.", case_sensitive=False)
]


@app.command("list")
def list_nodes(
    *,
    namespace: Namespace = "",
    output: Output = Format.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """List the nodes of a region with their state in OpenStack."""
    cluster = open_cluster(kubeconfig, context, namespace)
    status = cluster.find_region().get("status") or {}
    nodes = status.get("nodes") or {}
    if output != Format.TABLE:
        print_data(nodes, output)
        return
    headers = ("NODE", "STATE", "COMPUTE", "SERVERS", "MAINTENANCE", "REASON")
    print_table(stdout(), headers, node_rows(nodes))
    strangers = status.get("hostsWithoutNode") or ()
    if strangers:
        stderr().print(soft_wrapped(f"hosts in OpenStack without a node: {', '.join(strangers)}"))


@app.command()
def why(
    node: Node, *, namespace: Namespace = "", kubeconfig: Kubeconfig = None, context: Context = ""
) -> None:
    """Explain the state of a node, and the next step."""
    cluster = open_cluster(kubeconfig, context, namespace)
    region = cluster.find_region()
    entry = ((region.get("status") or {}).get("nodes") or {}).get(node)
    meta = region["metadata"]
    maintenances = maintenances_of(cluster, node, RegionName(meta["namespace"], meta["name"]))
    if entry is None and not maintenances:
        raise ObjectMissing(f'the region "{region["metadata"]["name"]}" has no node "{node}"')
    for line in node_causes(node, entry or {}, maintenances):
        stdout().print(soft_wrapped(line))


@app.command()
def plan(
    node: Node,
    *,
    mode: ModeOption = ModeWord.MIGRATE,
    on_unmovable: OnUnmovable = None,
    local_disks: LocalDisks = None,
    region: Region = "",
    output: Output = Format.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Show what a maintenance would do with servers, routers and networks of a node; nothing is done."""
    cluster = open_cluster(kubeconfig, context, "")
    name = f"plan-{node[:200]}-{secrets.token_hex(3)}"
    spec = fields_of(on_unmovable=on_unmovable, local_disks=local_disks)
    chosen = cluster.choose_region(region)
    create(cluster, name, chosen, node=node, mode=mode_of(mode), dryRun=True, **spec)
    reported: list[str] = []
    try:
        planned = wait_for_phase(cluster, name, _is_planned, PLAN_WITHIN, reported)
    finally:
        cluster.kube.delete(COMPUTE_MAINTENANCE, name)
    if planned is None:
        # The object with the reason is deleted here.
        why = reported[-1] if reported else "is the node container running? (osctl node why)"
        raise ObjectMissing(f"there is no plan after {PLAN_WITHIN:.0f} s: {why}")
    status = planned["status"]
    if status["phase"] == Phase.BLOCKED:
        raise ObjectMissing(message_of(status))
    if output != Format.TABLE:
        shown = {key: value for key, value in status.items() if key != "conditions"}
        print_data({**shown, "message": message_of(status)}, output)
        return
    stdout().print(Text(f"{node}: {plan_summary(status)}", "bold"))
    if status.get("servers"):
        print_table(stdout(), ("SERVER", "ID", "ACTION", "WHY"), plan_rows(status["servers"]))
    if status.get("network"):
        print_table(stdout(), ("KIND", "ID", "WHY"), network_rows(status["network"]))
    stdout().print(soft_wrapped(message_of(status)))


@app.command()
def maintain(
    node: Node,
    *,
    mode: Annotated[
        ModeWord | None,
        typer.Option("--mode", help="What happens to its servers: migrate.", case_sensitive=False),
    ] = None,
    fenced: Annotated[
        bool,
        typer.Option(
            "--fenced",
            help="With evacuate: confirm that the machine is off now, and that you have checked it.",
        ),
    ] = False,
    servers_per_node: ServersPerNode = None,
    servers_per_region: ServersPerRegion = None,
    nodes_per_aggregate: NodesPerAggregate = None,
    server_deadline: ServerDeadline = None,
    deadline: Deadline = None,
    retries: Retries = None,
    on_unmovable: OnUnmovable = None,
    local_disks: LocalDisks = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until you may work on the node.")] = False,
    timeout: Timeout = DEFAULT_TIMEOUT,
    region: Region = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Take a node out of service and move its servers away. This changes an existing maintenance, also a
    running one. `osctl node return` aborts it.
    """
    fields = fields_of(
        servers_per_node=servers_per_node,
        servers_per_region=servers_per_region,
        nodes_per_aggregate=nodes_per_aggregate,
        server_deadline=server_deadline,
        deadline=deadline,
        retries=retries,
        on_unmovable=on_unmovable,
        local_disks=local_disks,
    )
    cluster = open_cluster(kubeconfig, context, "")
    chosen = cluster.choose_region(region)
    name, known = named_for(cluster, node, chosen)
    if fenced:
        fields |= confirmation_for(cluster, chosen.namespace, node, mode, known)
    if known is None:
        if cluster.kube.get(NODE, node) is None and mode != ModeWord.EVACUATE:
            raise ObjectMissing(f'there is no node "{node}"')
        create(cluster, name, chosen, node=node, mode=mode_of(mode or ModeWord.MIGRATE), **fields)
        stderr().print(f"computemaintenance/{name} made")
    else:
        desired = {"mode": mode_of(mode), **fields} if mode is not None else fields
        changed = change(cluster, known, chosen, node=node, desired=desired)
        stderr().print(f"computemaintenance/{name} {changed}")
    if wait:
        wait_for_work(cluster, name, timeout)


def wait_for_work(cluster: Cluster, name: str, timeout: float) -> None:
    """Ends when a person may work on the node. Raises Exit if only a person helps, and at the deadline."""
    reported: list[str] = []

    def decided(phase: str) -> bool:
        return phase in (Phase.COMPLETED, Phase.BLOCKED)

    found = wait_for_phase(cluster, name, decided, timeout, reported)
    if found is None:
        raise typer.Exit(ExitCode.NOT_READY)
    print_result(found["status"], reported)
    if found["status"]["phase"] == Phase.BLOCKED:
        raise typer.Exit(ExitCode.NEEDS_EDIT)


@app.command("return")
def return_node(
    node: Node,
    *,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the rollback is over.")] = False,
    timeout: Timeout = DEFAULT_TIMEOUT,
    region: Region = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Put a node back into service, or abort its maintenance half-way: delete its maintenances, which aborts
    live migrations and reverts what they did. Servers that have moved stay where they are.
    """
    cluster = open_cluster(kubeconfig, context, "")
    found = maintenances_of(cluster, node, cluster.choose_region(region))
    if not found:
        raise ObjectMissing(f'the node "{node}" is not in maintenance; kubectl uncordon reverts a cordon')
    for one in found:
        cluster.kube.delete(COMPUTE_MAINTENANCE, one["metadata"]["name"], uid=one["metadata"]["uid"])
        stderr().print(f"computemaintenance/{one['metadata']['name']} is being rolled back")
    if not wait:
        return
    for one in found:
        left = wait_until_gone(cluster, one["metadata"]["name"], one["metadata"]["uid"], timeout)
        if left is not None:
            blocked = (left.get("status") or {}).get("phase") == Phase.BLOCKED
            raise typer.Exit(ExitCode.NEEDS_EDIT if blocked else ExitCode.NOT_READY)
        stderr().print(f"computemaintenance/{one['metadata']['name']} is gone")


@app.command()
def fenced(node: Node, *, region: Region = "", kubeconfig: Kubeconfig = None, context: Context = "") -> None:
    """Confirm that a node which is not ready is off, so that its servers may be started elsewhere.

    The confirmation is for the machine in the present state of its Node, and becomes void at any later sign
    that the machine was on.
    """
    cluster = open_cluster(kubeconfig, context, "")
    namespace = cluster.choose_region(region).namespace
    live = cluster.kube.get(NODE, node)
    if live is None:
        again = f"osctl node maintain {node} --mode evacuate --fenced"
        again += f" --region {region}" if region else ""
        raise ObjectMissing(f'node "{node}" does not exist, so it cannot hold the confirmation: {again}')
    machine = _seen_off(node, live)
    if parse_node(live, namespace) is None:
        again = f"osctl node maintain {node} --mode evacuate --fenced"
        raise ObjectMissing(f'the node "{node}" has no role of the region any more: {again}')
    confirmation = Confirmation(machine, report=_last_report(namespace, node, live))
    # Of the Node as it was read; a later state is not confirmed.
    meta = {
        "annotations": {node_note(namespace, FENCED_ANNOTATION): confirmation.written()},
        "resourceVersion": live["metadata"]["resourceVersion"],
    }
    cluster.kube.merge_patch(NODE, node, None, {"metadata": meta})
    stderr().print(
        soft_wrapped(f"node/{node} is confirmed to be off; this is valid until the machine reports again")
    )


def confirmation_for(
    cluster: Cluster, namespace: str, node: str, mode: ModeWord | None, known: KubeObject | None
) -> dict[str, dict[str, str]]:
    """`spec.fenced` for the present machine. Raises ObjectMissing if that must not be confirmed."""
    desired = mode_of(mode) if mode is not None else (known or {"spec": {}})["spec"].get("mode")
    if desired != Mode.EVACUATE:
        raise ObjectMissing("--fenced needs --mode evacuate: use migrate for servers of a machine that runs")
    live = cluster.kube.get(NODE, node)
    machine = _seen_off(node, live)
    if live is not None and parse_node(live, namespace) is not None:
        report = _last_report(namespace, node, live)
    else:
        # The annotation of a Node without a role is no longer updated.
        report = str(((known or {}).get("status") or {}).get("lastReport") or "")
    return {"fenced": given_as(machine, timestamp(SystemClock().now()), report)}


def _last_report(namespace: str, node: str, live: KubeObject) -> str:
    """The recorded state of its compute service. Raises ObjectMissing while there is no record yet."""
    report = str(node_notes(namespace, live).get(REPORT_ANNOTATION) or "")
    if not report and machine_facts(live, namespace).is_compute:
        raise ObjectMissing(
            f'the confirmation needs the last state of the compute service of "{node}", which the '
            "controller has not recorded yet; run this again in half a minute (the controller records it "
            "when OpenStack answers)"
        )
    return report


def _seen_off(node: str, live: KubeObject | None) -> Machine:
    """Shows the machine that is confirmed to be off. Raises ObjectMissing for a Ready node."""
    machine = machine_of(live)
    if machine.ready == "True":
        raise ObjectMissing(f'the node "{node}" is Ready, so its machine is not off')
    stderr().print(soft_wrapped(f"you confirm that the machine of {node} is off: {machine.words}"))
    return machine


@app.command("disks-shared")
def disks_shared(
    node: Node,
    token: Annotated[
        str,
        typer.Argument(help="The token from the plan or the message of the maintenance.", show_default=False),
    ],
    *,
    region: Region = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Confirm that other hosts can reach the disks of a node's servers, with the present configuration of its
    host.
    """
    cluster = open_cluster(kubeconfig, context, "")
    if cluster.kube.get(NODE, node) is None:
        raise ObjectMissing(f'there is no node "{node}"')
    notes = {node_note(cluster.choose_region(region).namespace, DISKS_ANNOTATION): token}
    cluster.kube.merge_patch(NODE, node, None, {"metadata": {"annotations": notes}})
    text = f"node/{node}: if {token} is the token of its plan or maintenance, its disks count as shared"
    stderr().print(soft_wrapped(f"{text} until the configuration of a host changes"))


def _is_planned(phase: str) -> bool:
    return phase in (Phase.PLANNED, Phase.BLOCKED)
