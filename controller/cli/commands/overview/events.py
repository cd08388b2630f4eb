"""osctl events: what happened to a region, in the order of time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated

import typer

from controller.adapters.system.clock import SystemClock
from controller.cli.cluster import Cluster, open_cluster
from controller.cli.exit_codes import ExitCode
from controller.cli.options import Context, Kubeconfig, Namespace, Output, parse_wait
from controller.cli.output import Format, print_data, print_table, soft_wrapped, stderr, stdout
from controller.cli.views.events import HEADERS, EventLine, event_data, event_lines, event_rows
from controller.domain.api.conditions import timestamp
from controller.domain.api.region_name import RegionName, region_of
from controller.errors import ApiUnavailable, Forbidden, ObjectMissing
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, EVENT, KubeObject

# Events of objects without a namespace are here.
_CLUSTER_EVENTS = "default"
_POLL_SECONDS = 2.0

Since = Annotated[
    float | None,
    typer.Option(
        "--since",
        metavar="DURATION",
        parser=parse_wait,
        help="Only the newest, such as 20m or 2h [default: all].",
    ),
]


def events(
    *,
    name: Annotated[
        str, typer.Argument(help="The region; not needed where there is one.", show_default=False)
    ] = "",
    since: Since = None,
    warnings: Annotated[bool, typer.Option("--warnings", help="Only warnings.")] = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Go on with those that come.")] = False,
    output: Output = Format.TABLE,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """List the Events of a region, its nodes and its maintenances in the order of time. What repeats, also on
    several pods of one workload, is one line with its count. Kubernetes keeps Events for about an hour.
    """
    clock = SystemClock()
    cluster = open_cluster(kubeconfig, context, namespace)
    region = cluster.find_region(name)
    begin = 0.0 if since is None else clock.now() - since

    def observe() -> tuple[EventLine, ...]:
        found = event_lines(observed_events(cluster, region), begin)
        return tuple(one for one in found if not warnings or one.type == "Warning")

    lines = observe()
    if output != Format.TABLE:
        if watch:
            raise typer.BadParameter("--watch prints lines, not data", param_hint="--output")
        print_data(event_data(lines), output)
        return
    print_table(stdout(), HEADERS, event_rows(lines, clock.now()))
    shown = {one.key: (one.count, one.last) for one in lines}
    while watch:
        try:
            time.sleep(_POLL_SECONDS)
            _print_new(observe(), shown)
        except ApiUnavailable as error:
            stderr().print(soft_wrapped(str(error)))
        except KeyboardInterrupt:
            raise typer.Exit(ExitCode.INTERRUPTED) from None


def _print_new(lines: tuple[EventLine, ...], shown: dict[tuple[str, ...], tuple[int, float]]) -> None:
    """One line for each event that is new, or that has happened again."""
    for one in lines:
        state = (one.count, one.last)
        if shown.get(one.key) == state:
            continue
        shown[one.key] = state
        times = f" ({one.count} times)" if one.count > 1 else ""
        text = f"{timestamp(one.last)}  {one.type}  {one.reason}  {one.kind}/{one.name}  {one.message}{times}"
        stdout().print(soft_wrapped(text), style="yellow" if one.type == "Warning" else "")


def observed_events(cluster: Cluster, region: KubeObject) -> Iterator[KubeObject]:
    """Those of the region's namespace, of its nodes, and of its maintenances."""
    meta = region["metadata"]
    yield from cluster.kube.list(EVENT, meta["namespace"])
    if meta["namespace"] == _CLUSTER_EVENTS:
        return
    nodes = set((region.get("status") or {}).get("nodes") or {})
    try:
        maintenances = {
            one["metadata"]["name"]
            for one in cluster.kube.list(COMPUTE_MAINTENANCE)
            if region_of(one) == RegionName(meta["namespace"], meta["name"])
        }
        others = cluster.kube.list(EVENT, _CLUSTER_EVENTS)
    except (Forbidden, ObjectMissing) as error:
        stderr().print(soft_wrapped(f"Events of nodes and maintenances are not shown: {error}"))
        return
    wanted = {"Node": nodes, "ComputeMaintenance": maintenances}
    for one in others:
        about = one.get("involvedObject") or {}
        if about.get("name") in wanted.get(str(about.get("kind")), ()):
            yield one
