"""osctl credentials: the generated credentials of a region, their age, rotation and backup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

import typer

from controller.adapters.system.clock import SystemClock
from controller.cli.cluster import Cluster, open_cluster
from controller.cli.commands.credentials_adopt import adopt
from controller.cli.commands.credentials_backup import backup, restore
from controller.cli.commands.releases.reconcile import Region
from controller.cli.options import Context, Kubeconfig, Namespace, Output
from controller.cli.output import Format, print_data, print_table, soft_wrapped, stdout
from controller.cli.targets import annotate, stamp
from controller.cli.views.credentials import (
    HEADERS,
    ServiceCredentials,
    credential_rows,
    rotation_lines,
    service_credentials,
)
from controller.domain.api.names import READER_SECRET, RECONCILE_ANNOTATION, ROTATE_ANNOTATION
from controller.domain.credentials.readers import READER_SERVICE
from controller.domain.credentials.rotation.accounts import releases_of
from controller.domain.credentials.rotation.barbican_key import IN_USE
from controller.domain.credentials.rotation.in_place import SSH_STAGES
from controller.domain.health.workloads import parse_workload
from controller.domain.validation.definitions.crd_schema import nearest
from controller.errors import ObjectMissing, ObjectRefused
from controller.ports.kubernetes import DEPLOYMENT, OSDPL, SECRET, STATEFULSET, KubeObject

app = typer.Typer(no_args_is_help=True, help="The credentials of a region: age, rotation, backup, adoption.")
for _command in (adopt, backup, restore):
    app.command()(_command)
Services = Annotated[
    list[str] | None,
    typer.Option("--service", metavar="NAME", help="Only this service; may be repeated.", show_default=False),
]


@app.command("list")
def list_credentials(
    *,
    region: Region = "",
    namespace: Namespace = "",
    output: Output = Format.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """List the generated credentials of each service, with their age and the progress of a rotation, without
    values.
    """
    cluster = open_cluster(kubeconfig, context, namespace)
    found = _credentials(cluster, cluster.find_region(region))
    if output != Format.TABLE:
        print_data([one.data() for one in found], output)
        return
    console = stdout()
    print_table(console, HEADERS, credential_rows(found, SystemClock().now()))
    lines = rotation_lines(found)
    for line in ("", *lines) if lines else ():
        console.print(soft_wrapped(line))


@app.command("rotate")
def rotate_credentials(
    *,
    services: Services = None,
    every: Annotated[bool, typer.Option("--all", help="All services, one after the other.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    region: Region = "",
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Rotate services to new accounts with new passwords; osctl credentials list shows the progress."""
    if bool(services) == every:
        raise typer.BadParameter("name services with --service, or take --all", param_hint="--service")
    cluster = open_cluster(kubeconfig, context, namespace)
    found = cluster.find_region(region)
    chosen = _chosen(_credentials(cluster, found), services)
    if dry_run:
        single = _of_one_pod(cluster, str(found["metadata"]["namespace"]))
        for one in chosen:
            _print_plan(one, single)
        return
    text = stamp(SystemClock())
    for one in chosen:
        meta = {"name": one.secret, "namespace": found["metadata"]["namespace"]}
        annotate(cluster, SECRET, {"metadata": meta}, ROTATE_ANNOTATION, text)
        stdout().print(f"{one.service}: rotation requested")
    annotate(cluster, OSDPL, found, RECONCILE_ANNOTATION, text)


def _credentials(cluster: Cluster, region: KubeObject) -> tuple[ServiceCredentials, ...]:
    return service_credentials(region.get("status") or {}, releases_of(cluster.bundles(region)))


def _chosen(
    known: Sequence[ServiceCredentials], services: Sequence[str] | None
) -> tuple[ServiceCredentials, ...]:
    """Raises ObjectMissing for an unknown service, and ObjectRefused if none of its credentials can be
    rotated.
    """
    if not services:
        rotating = tuple(one for one in known if one.rotates)
        if not rotating:
            raise ObjectMissing("no service of the region has a credential that can be rotated")
        return rotating
    by_name = {one.service: one for one in known}
    for name in services:
        if name not in by_name:
            meant = nearest(name, list(by_name))
            hint = f'did you mean "{meant}"?' if meant else f"there is: {', '.join(by_name) or 'none'}"
            raise ObjectMissing(f'no credentials of a service "{name}"; {hint}')
        if not by_name[name].rotates:
            kept = "; ".join(f"{key}: {why}" for key, why in by_name[name].kept.items())
            raise ObjectRefused(f"{name} is not rotated by this command: {kept}")
    return tuple(by_name[name] for name in dict.fromkeys(services))


def _print_plan(one: ServiceCredentials, single: Iterable[tuple[str, str]]) -> None:
    out = stdout()
    out.print(f"{one.service}: Secret {one.secret}", style="bold")
    if one.moves:
        out.print(soft_wrapped(f"  new passwords   {', '.join(sorted(one.use.keys))}"))
        out.print(soft_wrapped(f"  other accounts  {', '.join(one.accounts)}"))
    for key, gap in one.shared.gaps.items():
        out.print(soft_wrapped(f"  replaced        {key}: {gap}"), style="yellow")
    if one.shared.wraps:
        text = (
            f"{IN_USE}: no interruption; keys of projects are wrapped again, and the former key can "
            "still read"
        )
        out.print(soft_wrapped(f"  replaced        {text}"))
    for key in one.shared.pairs:
        text = f"{key}: no interruption; all pods accept both keys until each has the next one"
        out.print(soft_wrapped(f"  replaced        {text}"))
    times = (
        f"{SSH_STAGES} times, replacing all their pods each time"
        if one.shared.pairs
        else "each replaces its pods"
    )
    if one.replaced != one.releases:
        times = f"with new pods: {', '.join(one.replaced) or 'none'}"
    if one.releases:
        out.print(soft_wrapped(f"  upgraded        {', '.join(one.releases)}; {times}"))
    if one.service == READER_SERVICE:
        text = f"Secret {READER_SECRET} and its copies; the former account stays valid for ten more minutes"
        out.print(soft_wrapped(f"  written         {text}"))
    away = sorted(name for release, name in single if release in one.replaced)
    if away:
        text = f"{', '.join(away)}: one pod each, not available while it is replaced"
        out.print(soft_wrapped(f"  interrupted     {text}"), style="yellow")
    for key, why in one.kept.items():
        out.print(soft_wrapped(f"  not rotated     {key}: {why}"))


def _of_one_pod(cluster: Cluster, namespace: str) -> list[tuple[str, str]]:
    """Release and name of each Deployment and StatefulSet that has one pod."""
    found = []
    for kind in (DEPLOYMENT, STATEFULSET):
        for obj in cluster.kube.list(kind, namespace):
            workload = parse_workload({**obj, "kind": kind.kind})
            if workload is not None and not workload.off and workload.rollout.desired == 1:
                found.append((workload.release, f"{kind.kind} {workload.name}"))
    return found
