"""osctl apply: checks the files, applies their objects, and waits for the region if asked."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated

import typer

from controller.adapters.system.clock import SystemClock
from controller.cli.cluster import Cluster, open_cluster
from controller.cli.offline.checks import NOT_COMPARED, check_all
from controller.cli.offline.input_files import InputObject, read_objects
from controller.cli.offline.region import offline_renderer
from controller.cli.options import (
    DEFAULT_TIMEOUT,
    Context,
    FileArgument,
    Filenames,
    Kubeconfig,
    Namespace,
    Recursive,
    Timeout,
    files_of,
)
from controller.cli.output import WARNING, print_problems, soft_wrapped, stderr, stdout
from controller.cli.views.release_rows import short_duration
from controller.cli.waiting import Goal, wait_for_region
from controller.domain.api.names import API_VERSION
from controller.domain.api.region_spec import parse_region_spec
from controller.domain.shared.plurals import count
from controller.errors import Conflict, ObjectMissing, Problem, SpecInvalid
from controller.ports.kubernetes import CONFIGMAP, HELMBUNDLE, NAMESPACE, OSDPL, SECRET, KubeObject, Resource

FIELD_MANAGER = "osctl"
# Kinds of objects of a region, in the order of their dependencies.
APPLIED: tuple[Resource, ...] = (NAMESPACE, CONFIGMAP, SECRET, HELMBUNDLE, OSDPL)


def apply(
    *,
    files: FileArgument = None,
    filenames: Filenames = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until the region is Ready, showing progress.")
    ] = False,
    timeout: Timeout = DEFAULT_TIMEOUT,
    namespace: Namespace = "",
    recursive: Recursive = False,
    validate: Annotated[
        bool,
        typer.Option(
            "--validate/--no-validate", help="Check and render the files first, without the cluster."
        ),
    ] = True,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Let the API server check the files, and change nothing.")
    ] = False,
    force_conflicts: Annotated[
        bool, typer.Option("--force-conflicts", help="Take over fields that another client applied.")
    ] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Apply a region's files by server-side apply, and wait until it is Ready if asked.

    Takes OpenStackDeployments, HelmBundles, and the Namespaces, Secrets and ConfigMaps they refer to.
    """
    clock = SystemClock()
    began = clock.monotonic()
    items = ordered(read_objects(files_of(files, filenames), recursive=recursive))
    if validate:
        require_valid(items)
    sources = len({item.source for item in items})
    took = short_duration(clock.monotonic() - began)
    word = "valid" if validate else "read, not checked"
    stderr().print(f"{word}: {count(len(items), 'object')} in {count(sources, 'file')} ({took})")
    cluster = open_cluster(kubeconfig, context, namespace)
    placed = [place(item, namespace, cluster.namespace) for item in items]
    applied = [
        _apply(cluster, obj, item, dry_run, force_conflicts) for obj, item in zip(placed, items, strict=True)
    ]
    regions = [obj for obj in applied if obj.get("kind") == OSDPL.kind]
    for region in regions if not dry_run else ():
        _print_plan(region)
    if not wait or dry_run:
        return
    if not regions:
        raise SpecInvalid(
            [Problem("kind", f"no {OSDPL.kind} to wait for", "leave out --wait", items[0].source)]
        )
    for region in regions:
        code = wait_for_region(
            cluster, region, goal=Goal.READY, timeout=timeout, clock=clock, sleep=time.sleep
        )
        if code:
            raise typer.Exit(code)


def ordered(items: Sequence[InputObject]) -> list[InputObject]:
    """The objects in the order of applying. Raises SpecInvalid for other kinds."""
    rank = {(resource.api_version, resource.kind): index for index, resource in enumerate(APPLIED)}
    problems = [
        item.locate(
            Problem(
                "kind",
                f'osctl does not apply "{item.obj.get("apiVersion")} {item.kind}"',
                f"it applies {', '.join(resource.kind for resource in APPLIED)}; use kubectl for others",
            )
        )
        for item in items
        if (item.obj["apiVersion"], item.kind) not in rank
    ]
    problems += [
        item.locate(Problem("metadata.name", "required, and not set"))
        for item in items
        if not item.name and (item.obj["apiVersion"], item.kind) in rank
    ]
    if problems:
        raise SpecInvalid(problems)
    return sorted(items, key=lambda item: rank[(item.obj["apiVersion"], item.kind)])


def require_valid(items: Sequence[InputObject]) -> None:
    """Renders every region and reads every bundle. Raises SpecInvalid with the mistakes of all.

    Charts that only the cluster can reach are not a mistake in the file.
    """
    renderer = offline_renderer()
    renderer.learn(items)
    checked = check_all(items, renderer)
    problems = [problem for one in checked for problem in one.problems]
    if problems:
        raise SpecInvalid(problems)
    for one in checked:
        print_problems(one.warnings, WARNING)
        if one.unread:
            stderr().print(f"{one.title}: {NOT_COMPARED}: {soft_wrapped(one.unread)}", style="yellow")


def place(item: InputObject, asked: str, default: str) -> KubeObject:
    """The object with its namespace: its own, which -n may not contradict, otherwise -n or the context's."""
    obj: KubeObject = dict(item.obj)
    if (obj["apiVersion"], obj["kind"]) == (NAMESPACE.api_version, NAMESPACE.kind):
        return obj
    own = obj["metadata"].get("namespace") or ""
    if own and asked and own != asked:
        problem = Problem(
            "metadata.namespace", f'is "{own}", but -n says "{asked}"', "leave out one of the two"
        )
        raise SpecInvalid([item.locate(problem)])
    return {**obj, "metadata": {**obj["metadata"], "namespace": own or asked or default or "default"}}


def _apply(
    cluster: Cluster, obj: KubeObject, item: InputObject, dry_run: bool, force_conflicts: bool
) -> KubeObject:
    meta = obj["metadata"]
    resource = next(one for one in APPLIED if (one.api_version, one.kind) == (obj["apiVersion"], obj["kind"]))
    try:
        before = cluster.kube.get(resource, meta["name"], meta.get("namespace"))
        after = cluster.kube.apply(obj, manager=FIELD_MANAGER, force=force_conflicts, dry_run=dry_run)
    except Conflict as error:
        raise Conflict(f"{item.title}: {error}; --force-conflicts takes the fields over") from None
    except ObjectMissing as error:
        raise ObjectMissing(_missing(obj, str(error))) from None
    stdout().print(f"{item.title} {_what_happened(before, after)}{' (dry run)' if dry_run else ''}")
    return after


def _print_plan(region: KubeObject) -> None:
    """Reports if the applied mode changes nothing yet."""
    if parse_region_spec(region.get("spec")).planned:
        meta = region["metadata"]
        where = f"{meta['name']} -n {meta['namespace']}"
        text = f"its mode is Plan: nothing is done before a plan is approved; osctl plan {where} shows it"
        stderr().print(text, style="yellow")


def _missing(obj: KubeObject, error: str) -> str:
    if "namespaces" in error and "not found" in error and '"' in error:
        namespace = obj["metadata"].get("namespace")
        return f'namespace "{namespace}" does not exist: kubectl create namespace {namespace}'
    if obj["apiVersion"] == API_VERSION:
        return f"the cluster knows no {obj['kind']}: install the controller's chart first"
    return error


def _what_happened(before: KubeObject | None, after: KubeObject) -> str:
    meta = after["metadata"]
    generation = f" (generation {meta['generation']})" if meta.get("generation") else ""
    if before is None:
        return f"created{generation}"
    changed = before["metadata"].get("resourceVersion") != meta.get("resourceVersion")
    return f"{'changed' if changed else 'unchanged'}{generation}"
