"""osctl history: the revisions of a release that Helm keeps."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from controller.adapters.helm.records.release_records import SecretRecords
from controller.cli.cluster import open_cluster
from controller.cli.options import Context, Kubeconfig, Namespace, Output
from controller.cli.output import Cell, Format, print_data, print_table, stdout
from controller.cli.targets import find_release
from controller.domain.api.conditions import timestamp
from controller.ports.helm import Revision

ReleaseName = Annotated[str, typer.Argument(metavar="RELEASE", help="Name of the release.")]
_STYLES = {"deployed": "green", "failed": "red"}


def history(
    *,
    release: ReleaseName,
    namespace: Namespace = "",
    output: Output = Format.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Show the revisions of a release, the newest last; osctl rollback can return to them."""
    cluster = open_cluster(kubeconfig, context, namespace)
    target = find_release(cluster, release)
    revisions = SecretRecords(cluster.kube).observe(target.namespace).get(release, ())
    if output != Format.TABLE:
        print_data([as_data(one) for one in revisions], output)
        return
    headers = ("REVISION", "UPDATED", "STATUS", "CHART", "DIGEST", "NOTE")
    print_table(
        stdout(),
        headers,
        [
            (
                str(one.version),
                timestamp(one.modified),
                Cell(one.status, _STYLES.get(one.status, "")),
                one.chart_version or "-",
                one.digest[:12] or "-",
                note(one),
            )
            for one in revisions
        ],
    )


def note(revision: Revision) -> str:
    """The special role of a revision; empty for a normal one."""
    if revision.rolled_back_to:
        return f"rollback to {revision.rolled_back_to}"
    return "" if revision.ours else "not by the controller"


def as_data(revision: Revision) -> dict[str, Any]:
    """A revision for programs."""
    return {
        "revision": revision.version,
        "updated": timestamp(revision.modified),
        "status": revision.status,
        "chartVersion": revision.chart_version,
        "digest": revision.digest,
        "rolledBackTo": revision.rolled_back_to or None,
        "ours": revision.ours,
    }
