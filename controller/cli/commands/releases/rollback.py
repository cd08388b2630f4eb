"""osctl rollback: requests an earlier revision of a release."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from controller.adapters.helm.records.release_records import SecretRecords
from controller.adapters.system.clock import SystemClock
from controller.cli.cluster import open_cluster
from controller.cli.commands.releases.history import ReleaseName
from controller.cli.options import DEFAULT_TIMEOUT, Context, Kubeconfig, Namespace, Timeout
from controller.cli.output import stdout
from controller.cli.release_waiting import Request, wait_for_releases
from controller.cli.targets import annotate, find_release, stamp
from controller.domain.api.names import ROLLBACK_RELEASE_PREFIX
from controller.errors import ObjectMissing
from controller.ports.helm import Revision
from controller.ports.kubernetes import HELMBUNDLE

# Helm's states of revisions that were deployed once.
USABLE = ("deployed", "superseded")


def rollback(
    *,
    release: ReleaseName,
    revision: Annotated[
        int,
        typer.Argument(
            metavar="REVISION",
            min=0,
            help="Number of the revision [default: the previous one].",
            show_default=False,
        ),
    ] = 0,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the rollback is done.")] = False,
    timeout: Timeout = DEFAULT_TIMEOUT,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Roll back a release to an earlier revision, and keep it there until its spec is edited.

    Its databases are not rolled back: completed migrations stay.
    """
    clock = SystemClock()
    cluster = open_cluster(kubeconfig, context, namespace)
    target = find_release(cluster, release)
    requested = choose(
        SecretRecords(cluster.kube).observe(target.namespace).get(release, ()), revision, release
    )
    text = f"{requested} {stamp(clock)}"
    annotate(cluster, HELMBUNDLE, target.bundle, f"{ROLLBACK_RELEASE_PREFIX}/{release}", text)
    stdout().print(f"{target.title}: a rollback to revision {requested} is requested")
    if wait:
        asked = Request("rollback", text)
        code = wait_for_releases(cluster, [target], asked, timeout=timeout, clock=clock, sleep=time.sleep)
        if code:
            raise typer.Exit(code)


def choose(revisions: tuple[Revision, ...], requested: int, release: str) -> int:
    """The revision for the rollback: the requested one, otherwise the last deployed one before the newest.

    Raises ObjectMissing, with the available ones.
    """
    usable = [one.version for one in revisions if one.status in USABLE and not one.jobs_for]
    before = [version for version in usable if version != revisions[-1].version]
    if requested in usable or (not requested and before):
        return requested or before[-1]
    listed = ", ".join(map(str, usable)) or "none"
    missing = f"revision {requested}" if requested else "previous revision"
    raise ObjectMissing(f"release {release} has no {missing}; it has: {listed}")
