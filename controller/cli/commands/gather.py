"""osctl gather: one file about a region, for those who help."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from controller.adapters.system.clock import SystemClock
from controller.cli.cluster import Cluster, open_cluster, open_survey
from controller.cli.exit_codes import ExitCode
from controller.cli.gathering.archive import writing
from controller.cli.gathering.gather import Gatherer, Outcome
from controller.cli.gathering.parts import Places
from controller.cli.offline.region import offline_renderer
from controller.cli.options import Context, Kubeconfig, Namespace, parse_wait
from controller.cli.output import soft_wrapped, stderr, stdout
from controller.domain.api.conditions import timestamp
from controller.domain.api.region_name import RegionName
from controller.domain.shared.plurals import count
from controller.domain.values.shipped_values import Library
from controller.errors import Forbidden, ObjectMissing
from controller.ports.kubernetes import KubeObject

_MEBI = 1024 * 1024


def gather(
    *,
    name: Annotated[
        str, typer.Argument(help="The region; needed only if there are several.", show_default=False)
    ] = "",
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="FILE", help="The file to write [default: gather-REGION-TIME.tar.gz]."),
    ] = None,
    controller_namespace: Annotated[
        str, typer.Option("--controller-namespace", metavar="NAMESPACE", help="Namespace of the controller.")
    ] = "openstack-controller",
    max_size: Annotated[
        int,
        typer.Option("--max-size", metavar="MIB", min=1, max=4096, help="Size of all entries, uncompressed."),
    ] = 128,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout", metavar="DURATION", parser=parse_wait, show_default="3m", help="Time to collect."
        ),
    ] = 180.0,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Write one file about a region for those who help: spec, status, Events, states of releases, workloads,
    pods and nodes, and the controller's logs. It has no secrets: contents of Secrets, ConfigMaps and
    environments are left out, and all else is searched for them. It changes nothing in the cluster.
    """
    clock = SystemClock()
    region = _region(open_cluster(kubeconfig, context, namespace), name, namespace)
    taken = clock.now()
    root = f"gather-{region.name or region.namespace}-{datetime.fromtimestamp(taken, UTC):%Y%m%dT%H%M%SZ}"
    file = to or Path(f"{root}.tar.gz")
    if file.exists():
        raise typer.BadParameter(f"{file} exists already, and is not overwritten", param_hint="--to")
    library = offline_renderer().library
    gatherer = Gatherer(
        open_survey(kubeconfig, context),
        Places(region, controller_namespace),
        clock=clock,
        deadline=clock.monotonic() + timeout,
        options=_secret_options(library),
        public=_public_names(library, region),
        report=lambda text: stderr().print(soft_wrapped(text)),
    )
    with writing(file, root, max_size * _MEBI, taken) as archive:
        outcome = gatherer.fill(archive)
        about = {"taken": timestamp(taken), "osctl": version("openstack-controller"), "region": str(region)}
        archive.end({**about, "complete": not archive.contents.left_out})
    entries, missing = archive.contents.entries, archive.contents.left_out
    text = f"{file}: {count(len(entries), 'entry', 'entries')}, {sum(one['bytes'] for one in entries)} bytes"
    text += f"; {count(len(missing), 'part')} missing or cut, as manifest.json says" if missing else ""
    stdout().print(text)
    _end(outcome)


def _end(outcome: Outcome) -> None:
    if outcome.refused:
        raise typer.Exit(ExitCode.REFUSED)
    if outcome.late:
        raise typer.Exit(ExitCode.NOT_READY)


def _region(cluster: Cluster, name: str, namespace: str) -> RegionName:
    """The region, or the namespace alone where `-n` names one and the region is gone or cannot be read."""
    try:
        found: KubeObject = cluster.find_region(name)
    except ObjectMissing:
        if name or not namespace:
            raise
    except Forbidden as error:
        if not namespace:
            raise
        stderr().print(soft_wrapped(f"the region cannot be read: {error}"))
    else:
        return RegionName(found["metadata"]["namespace"], found["metadata"]["name"])
    return RegionName(namespace, name)


def _secret_options(library: Library) -> Collection[str]:
    sections = (text for chart in library.names.secrets.values() for text in chart.values())
    return {word.partition("@")[0] for text in sections for word in text.split()}


def _public_names(library: Library, region: RegionName) -> Collection[str]:
    """Names that may stand in a Secret as well, and are none: of the region, its services and charts."""
    services = library.catalogue.services
    charts = (chart for entry in services.values() for chart in entry.charts)
    return {region.namespace, region.name, "openstack-controller", *services, *charts}
