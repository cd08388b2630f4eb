"""osctl plan and osctl approve: shows and approves the plan of a region with mode Plan."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from controller.adapters.system.clock import SystemClock
from controller.cli.cluster import Cluster, open_cluster
from controller.cli.commands.apply import FIELD_MANAGER, place, require_valid
from controller.cli.exit_codes import ExitCode
from controller.cli.offline.input_files import read_objects
from controller.cli.offline.own_kinds import is_region
from controller.cli.options import (
    DEFAULT_TIMEOUT,
    Context,
    Filenames,
    Kubeconfig,
    Namespace,
    Output,
    Timeout,
    parse_wait,
)
from controller.cli.output import Format, print_data, soft_wrapped, stderr, stdout
from controller.cli.views.plan import STUCK, PlanView, ReleaseLines, plan_view
from controller.cli.waiting import PLAN_WITHIN, Goal, wait_for_region
from controller.domain.shared.plurals import count
from controller.errors import Conflict, ObjectMissing, Problem, SpecInvalid
from controller.ports.kubernetes import OSDPL, KubeObject

PLAN_TIMEOUT = 300.0
POLL_SECONDS = 0.5
ATTEMPTS = 5

RegionName = Annotated[
    str, typer.Argument(help="The region; needed only if there are several.", show_default=False)
]
PlanTimeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="DURATION",
        parser=parse_wait,
        show_default="5m",
        help="How long to wait for the plan.",
    ),
]


def plan(
    *,
    name: RegionName = "",
    filenames: Filenames = None,
    output: Output = Format.TABLE,
    timeout: PlanTimeout = PLAN_TIMEOUT,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Show what the controller would do to a region with mode Plan.

    With -f, this first applies the file's region with spec.mode Plan, whatever its own mode: from then on
    nothing is done before a plan is approved. Exit code 1: there is something to do.
    """
    if filenames and name:
        raise typer.BadParameter("give a region's name, or -f FILE, not both")
    cluster = open_cluster(kubeconfig, context, namespace)
    region = _send(cluster, filenames, namespace) if filenames else cluster.find_region(name)
    view = _await_plan(cluster, region, timeout)
    if output == Format.TABLE:
        print_plan(stdout(), view)
    else:
        found = cluster.find_region(view.name)
        print_data({**((found.get("status") or {}).get("plan") or {}), "reason": view.reason}, output)
    if not view.known:
        raise typer.Exit(ExitCode.NEEDS_EDIT if view.reason in STUCK else ExitCode.NOT_READY)
    if not view.empty:
        raise typer.Exit(ExitCode.DIFFERENT)


def approve(
    *,
    name: RegionName = "",
    digest: Annotated[
        str,
        typer.Option("--plan", metavar="DIGEST", help="Approve this plan only.", show_default=False),
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the region is Ready.")] = False,
    timeout: Timeout = DEFAULT_TIMEOUT,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Approve the plan of a region with mode Plan: exactly this plan is applied, and no other.

    Without a terminal, use --yes or --plan DIGEST, because there is no question.
    """
    cluster = open_cluster(kubeconfig, context, namespace)
    region = cluster.find_region(name)
    # The plan of a region that was just edited arrives soon.
    view = _await_plan(cluster, region, min(timeout, PLAN_WITHIN))
    if not view.waits or not view.digest:
        raise _stopped(view, _nothing_to_approve(view))
    if digest not in ("", view.digest):
        text = f"the plan is {view.digest} now; look at it with osctl plan {view.name}"
        raise Conflict(f"{digest} is another plan: {text}")
    if not (yes or digest):
        _ask(view)
    region = _approve(cluster, region, view.digest)
    stdout().print(f"{view.name}: plan {view.digest} is approved", style="green")
    if not wait:
        return
    code = wait_for_region(
        cluster, region, goal=Goal.READY, timeout=timeout, clock=SystemClock(), sleep=time.sleep
    )
    if code:
        raise typer.Exit(code)


def _send(cluster: Cluster, filenames: list[str], namespace: str) -> KubeObject:
    """Applies the only region of the files with mode Plan."""
    items = read_objects(filenames)
    regions = [item for item in items if is_region(item)]
    if len(regions) != 1:
        text = f"{len(regions)} regions in the files"
        raise SpecInvalid([Problem("kind", text, f"give one {OSDPL.kind}", items[0].source)])
    require_valid(regions)
    [item] = regions
    obj = place(item, namespace, cluster.namespace)
    obj["spec"] = {**(obj.get("spec") or {}), "mode": "Plan"}
    obj["spec"].pop("approvedPlan", None)
    try:
        applied = cluster.kube.apply(obj, manager=FIELD_MANAGER, force=False)
    except Conflict as error:
        raise Conflict(
            f"{item.title}: {error}; osctl apply --force-conflicts takes the fields over"
        ) from None
    others = len(items) - 1
    remaining = f"; {count(others, 'other object')} in the files are not applied" if others else ""
    stderr().print(f"{item.title} its mode is Plan now{remaining}")
    return applied


def _await_plan(cluster: Cluster, region: KubeObject, timeout: float) -> PlanView:
    """The plan of the region's present spec, or its state at the timeout."""
    meta, clock = region["metadata"], SystemClock()
    generation = int(meta.get("generation") or 0)
    until = clock.monotonic() + timeout
    while True:
        view = plan_view(region)
        if view.mode != "Plan":
            text = "so there is no plan; set it to Plan, or compare with osctl diff -f FILE"
            raise _stopped(view, f"its mode is {view.mode}, {text}")
        seen = int(region["metadata"].get("generation") or 0) >= generation
        if (seen and (view.known or view.reason in STUCK)) or clock.monotonic() > until:
            return view
        time.sleep(POLL_SECONDS)
        found = cluster.kube.get(OSDPL, meta["name"], meta["namespace"])
        if found is None:
            raise ObjectMissing(f"{meta['name']} was deleted meanwhile")
        region = found


def _stopped(view: PlanView, text: str) -> typer.Exit:
    """Reports why nothing can be done before an edit."""
    stderr().print(f"{view.name}: {soft_wrapped(text)}", style="yellow")
    return typer.Exit(ExitCode.NEEDS_EDIT)


def _nothing_to_approve(view: PlanView) -> str:
    if view.accepted:
        return f"plan {view.accepted} is already approved and is being applied"
    return view.message or "there is no plan yet; run osctl plan again"


def _ask(view: PlanView) -> None:
    if not sys.stdin.isatty():
        raise typer.BadParameter(
            "there is no terminal to ask for confirmation; give --yes, or --plan DIGEST", param_hint="--yes"
        )
    print_plan(stderr(), view)
    if not typer.confirm("Apply this plan?", err=True):
        raise typer.Exit(ExitCode.NEEDS_EDIT)


def _approve(cluster: Cluster, region: KubeObject, digest: str) -> KubeObject:
    """Approves only if the plan is unchanged."""
    meta = region["metadata"]
    for _ in range(ATTEMPTS):
        patch: dict[str, Any] = {
            "metadata": {"resourceVersion": region["metadata"]["resourceVersion"]},
            "spec": {"approvedPlan": digest},
        }
        try:
            found = cluster.kube.merge_patch(OSDPL, meta["name"], meta["namespace"], patch)
        except Conflict:
            found = None
            newer = cluster.kube.get(OSDPL, meta["name"], meta["namespace"])
            if newer is None:
                break
            region = newer
            if plan_view(region).digest != digest:
                raise Conflict("the plan has changed meanwhile; look at it again with osctl plan") from None
            continue
        if found is None:
            break
        return found
    raise Conflict(f"{meta['name']} changed several times during the approval, or was deleted; try again")


def print_plan(console: Console, view: PlanView) -> None:
    """A block for each release, then the plan in a sentence and what to do about it."""
    for path, before, after, does in view.settings:
        line = Text(f"~ spec.{path}  ").append(soft_wrapped(before), "red").append(" → ")
        console.print(line.append(soft_wrapped(after), "green"), soft_wrap=True)
        if does:
            console.print(Text(f"    {does}", "dim"), soft_wrap=True)
    for one in view.releases:
        _print_release(console, one)
    for warning in view.warnings:
        console.print(Text(f"! {soft_wrapped(warning)}", "yellow"))
    if not view.known:
        text = view.message or "the controller has not made the plan yet"
        console.print(Text(f"{view.name}: {soft_wrapped(text)}", "red" if view.reason in STUCK else "yellow"))
        return
    if view.empty:
        console.print(f"{view.name}: nothing to do")
        return
    console.print(Text(f"Plan {view.digest}: {view.sentence}", "bold"))
    if view.upgrade is not None:
        source, target = view.upgrade
        text = f"It upgrades OpenStack from {source} to {target} step by step, not all releases at once."
        shows = f"osctl upgrade plan {target} {view.name} -n {view.namespace} lists the steps."
        console.print(soft_wrapped(f"{text} {shows}"), soft_wrap=True)
    if view.accepted:
        console.print("It is approved and is being applied.")
    elif view.waits:
        console.print(f"It waits for approval: osctl approve {view.name} -n {view.namespace}")


def _print_release(console: Console, one: ReleaseLines) -> None:
    line = Text(f"{one.mark} {one.name}", f"bold {one.style}")
    console.print(line.append(f"  {one.note}" if one.note else "", "not bold"))
    for path, before, after, where in one.changes:
        text = Text(f"    {path}")
        if before or after:
            text.append("  ").append(soft_wrapped(before), "red").append(" → ")
            text.append(soft_wrapped(after), "green")
        console.print(text.append(f"  ({where})" if where else "", "dim"), soft_wrap=True)
    for title, items in one.lists:
        console.print(Text(f"    {title:<10}", "dim").append(soft_wrapped(items), "not dim"), soft_wrap=True)
    for warning in one.warnings:
        console.print(Text(f"    ! {soft_wrapped(warning)}", "yellow"), soft_wrap=True)
