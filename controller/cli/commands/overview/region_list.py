"""The regions of a cluster, or of the clusters of several contexts, read beside each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from controller.cli.cluster import Cluster
from controller.cli.exit_codes import ExitCode, exit_code
from controller.cli.views.region_rows import RegionRow
from controller.cli.views.release_rows import parse_time
from controller.cli.views.status import region_view
from controller.errors import ControllerError
from controller.ports.kubernetes import HELMBUNDLE, OSDPL

_MOST_AT_ONCE = 8


def observe_regions(
    contexts: Sequence[str], open_: Callable[[str], Cluster], namespace: str | None, now: float
) -> tuple[list[RegionRow], ExitCode]:
    """All regions, by context and name. A cluster that cannot be read is a row, and determines the code."""

    def observe(context: str) -> tuple[list[RegionRow], ExitCode]:
        try:
            return _regions_of(open_(context), context, namespace, now), ExitCode.OK
        except ControllerError as error:
            return [RegionRow(context, error=str(error))], exit_code(error)

    with ThreadPoolExecutor(min(_MOST_AT_ONCE, max(1, len(contexts)))) as pool:
        found = list(pool.map(observe, contexts))
    return [row for rows, _ in found for row in rows], max((code for _, code in found), default=ExitCode.OK)


def _regions_of(cluster: Cluster, context: str, namespace: str | None, now: float) -> list[RegionRow]:
    bundles = cluster.kube.list(HELMBUNDLE, namespace)
    rows = []
    for region in cluster.kube.list(OSDPL, namespace):
        meta = region["metadata"]
        own = [one for one in bundles if one["metadata"]["namespace"] == meta["namespace"]]
        created = parse_time(meta.get("creationTimestamp"))
        age = None if created is None else max(0.0, now - created)
        rows.append(RegionRow(context, region_view(region, own, now), age))
    return sorted(rows, key=lambda row: (row.view.namespace, row.view.name) if row.view else ("", ""))
