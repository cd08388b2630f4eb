"""osctl server: OpenStackServers, their state and deletion."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.text import Text

from controller.cli.cluster import Cluster, open_cluster
from controller.cli.exit_codes import ExitCode
from controller.cli.options import DEFAULT_TIMEOUT, Context, Kubeconfig, Output, Timeout
from controller.cli.output import Format, print_data, print_table, soft_wrapped, stderr, stdout
from controller.cli.views.server import condition_rows, resource_rows, server_facts, server_rows
from controller.cli.waiting import POLL_SECONDS
from controller.domain.api.conditions import find
from controller.domain.api.reasons import Reason
from controller.errors import ObjectMissing
from controller.ports.kubernetes import SERVER, KubeObject

app = typer.Typer(no_args_is_help=True, help="OpenStackServers: their state and deletion.")
Server = Annotated[str, typer.Argument(help="Name of the OpenStackServer.", show_default=False)]
Namespace = Annotated[
    str,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NAMESPACE",
        help="Namespace of the servers [default: that of the context].",
        show_default=False,
    ),
]
AllNamespaces = Annotated[bool, typer.Option("--all-namespaces", "-A", help="Those of every namespace.")]


@app.command("list")
def list_servers(
    *,
    namespace: Namespace = "",
    all_namespaces: AllNamespaces = False,
    output: Output = Format.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """List OpenStackServers with their states and addresses."""
    cluster = open_cluster(kubeconfig, context, namespace)
    found = cluster.kube.list(SERVER, None if all_namespaces else _namespace(cluster))
    if output != Format.TABLE:
        head = {"apiVersion": SERVER.api_version, "kind": f"{SERVER.kind}List"}
        print_data({**head, "items": found}, output)
        return
    headers = ("NAMESPACE", "NAME", "READY", "STATE", "ADDRESSES", "REASON")
    print_table(stdout(), headers, server_rows(found))


@app.command()
def describe(
    server: Server,
    *,
    namespace: Namespace = "",
    output: Output = Format.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Show one OpenStackServer with its conditions and its objects in OpenStack."""
    cluster = open_cluster(kubeconfig, context, namespace)
    found = _get(cluster, server)
    if output != Format.TABLE:
        print_data(found, output)
        return
    for line in server_facts(found):
        stdout().print(soft_wrapped(line))
    status = found.get("status") or {}
    print_table(stdout(), ("CONDITION", "STATUS", "REASON", "MESSAGE"), condition_rows(status))
    if resources := list(resource_rows(status)):
        print_table(stdout(), ("RESOURCE", "NAME", "ID"), resources)


@app.command()
def delete(
    server: Server,
    *,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until all its objects in OpenStack are deleted.")
    ] = False,
    timeout: Timeout = DEFAULT_TIMEOUT,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Delete one with all its objects in OpenStack."""
    cluster = open_cluster(kubeconfig, context, namespace)
    found = _get(cluster, server)
    uid = str(found["metadata"]["uid"])
    cluster.kube.delete(SERVER, server, _namespace(cluster), uid=uid)
    if wait and not _is_gone(cluster, server, uid, timeout):
        raise typer.Exit(ExitCode.NOT_READY)
    stdout().print(Text(f"{server}: {'deleted' if wait else 'deletion requested'}"))


def _is_gone(cluster: Cluster, name: str, uid: str, timeout: float) -> bool:
    """Whether it was deleted in time; reports the obstacles meanwhile."""
    deadline, told = time.monotonic() + timeout, ""
    while True:
        found = cluster.kube.get(SERVER, name, _namespace(cluster))
        if found is None or found["metadata"]["uid"] != uid:
            return True
        if (message := _message(found)) not in ("", told):
            stderr().print(soft_wrapped(message))
            told = message
        if time.monotonic() > deadline:
            stderr().print(soft_wrapped(f"{name}: not deleted after {timeout:.0f} s"))
            return False
        time.sleep(POLL_SECONDS)


def _message(found: Mapping[str, Any]) -> str:
    """Why it still exists, or nothing while that is unknown."""
    ready = find((found.get("status") or {}).get("conditions") or (), "Ready")
    return str(ready.get("message") or "") if ready.get("reason") == Reason.DELETING else ""


def _namespace(cluster: Cluster) -> str:
    return cluster.namespace or "default"


def _get(cluster: Cluster, name: str) -> KubeObject:
    found = cluster.kube.get(SERVER, name, _namespace(cluster))
    if found is None:
        text = f'there is no OpenStackServer "{name}" in namespace "{_namespace(cluster)}"'
        raise ObjectMissing(text)
    return found
