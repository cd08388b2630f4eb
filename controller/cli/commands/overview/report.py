"""osctl report: one page about a region, as a file."""

from __future__ import annotations

import sys
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from controller.adapters.system.clock import SystemClock
from controller.cli.cluster import Cluster, open_cluster
from controller.cli.options import Context, Kubeconfig, Namespace
from controller.cli.output import Format, print_data, stderr
from controller.cli.views.pages.report import Report, html_text, report_of
from controller.cli.views.pages.report_data import report_data
from controller.domain.api.region_name import RegionName, region_of
from controller.domain.hosts.host_facts import is_plan
from controller.errors import Forbidden, ObjectMissing
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, KubeObject, KubeObjects


class ReportFormat(StrEnum):
    """How the report is written."""

    HTML = "html"
    JSON = "json"
    YAML = "yaml"


def report(
    *,
    name: Annotated[
        str, typer.Argument(help="The region; not needed where there is one.", show_default=False)
    ] = "",
    output: Annotated[
        ReportFormat, typer.Option("--output", "-o", help="Output format.")
    ] = ReportFormat.HTML,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="The file to write [default: stdout].")
    ] = None,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Write one page about a region: causes, services, health, releases, nodes, certificates, credentials,
    last actions, upgrade, and backups. It comes from the status of the region and its objects alone, has no
    secret and no script, and needs no server.
    """
    cluster = open_cluster(kubeconfig, context, namespace)
    region = cluster.find_region(name)
    found = _report(cluster, region)
    if output != ReportFormat.HTML:
        if to is not None:
            raise typer.BadParameter("only a page is written to a file", param_hint="--to")
        print_data(report_data(found), Format(str(output)))
    elif to is None:
        sys.stdout.write(html_text(found))
    else:
        _write(to, html_text(found))
        stderr().print(f"{to} written")


def _report(cluster: Cluster, region: KubeObject) -> Report:
    maintenances, unread = _maintenances(cluster, region)
    return report_of(
        region,
        cluster.bundles(region),
        maintenances,
        now=SystemClock().now(),
        osctl=version("openstack-controller"),
        unread=unread,
    )


def _maintenances(cluster: Cluster, region: KubeObject) -> tuple[KubeObjects | None, str]:
    """Those of the region, or None and the reason if they cannot be read."""
    meta = region["metadata"]
    owner = RegionName(meta["namespace"], meta["name"])
    try:
        listed = cluster.kube.list(COMPUTE_MAINTENANCE)
    except (Forbidden, ObjectMissing) as error:
        return None, str(error)
    return [one for one in listed if region_of(one) == owner and not is_plan(one)], ""


def _write(path: Path, text: str) -> None:
    """A reader of the file sees the former page or the new one, never a part."""
    try:
        partial = path.with_name(f".{path.name}.partial")
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise typer.BadParameter(f"{path}: {error.strerror}", param_hint="--to") from None
