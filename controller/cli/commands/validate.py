"""osctl validate: shows every mistake in files, with file and line, before they reach a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Annotated, Any

import typer

from controller.cli.cluster import open_cluster
from controller.cli.cluster_checks import LiveObjects, beside_cluster
from controller.cli.exit_codes import ExitCode
from controller.cli.offline.checks import NOT_COMPARED, Checked, check_all
from controller.cli.offline.input_files import read_objects
from controller.cli.offline.region import offline_renderer
from controller.cli.options import (
    Context,
    FileArgument,
    Filenames,
    Kubeconfig,
    Output,
    Recursive,
    files_of,
)
from controller.cli.output import WARNING, Format, print_data, print_problems, soft_wrapped, stderr, stdout
from controller.domain.shared.plurals import count
from controller.domain.validation.cluster.asked_resources import AskedResources
from controller.errors import Problem, SpecInvalid


def validate(
    *,
    files: FileArgument = None,
    filenames: Filenames = None,
    recursive: Recursive = False,
    manifests: Annotated[
        bool,
        typer.Option(
            "--manifests", help="Also render releases, and check their size, references and requests."
        ),
    ] = False,
    nodes: Annotated[
        bool,
        typer.Option(
            "--nodes",
            help="Also hold what releases ask for against the cluster: nodes, taints, storage classes, "
            "definitions, quotas, Secrets, Pod Security.",
        ),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with 3 where there are warnings, too.")
    ] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    output: Output = Format.TABLE,
) -> None:
    """Check files without a cluster: schema, rules, services, values, types, references.

    Values are compared with the charts of the region. If those cannot be read, it reports that, with exit
    code 8.
    """
    try:
        items = read_objects(files_of(files, filenames), recursive=recursive)
    except SpecInvalid as error:
        if output == Format.TABLE:
            raise
        _print_data((), error.problems, output)
        raise typer.Exit(ExitCode.INVALID) from None
    renderer = offline_renderer()
    renderer.learn(items)
    cluster = open_cluster(kubeconfig, context, "") if nodes else None
    live = LiveObjects(cluster) if cluster is not None else None
    checked = check_all(items, renderer, manifests=manifests or nodes, live=live)
    if cluster is not None:
        checked = beside_cluster(checked, items, cluster)
    problems = [problem for one in checked for problem in one.problems]
    if output == Format.TABLE:
        for one in checked:
            print_problems(one.warnings, WARNING)
            _print_line(one)
        if problems:
            raise SpecInvalid(problems)
    else:
        _print_data(checked, problems, output)
        if problems:
            raise typer.Exit(ExitCode.INVALID)
    if any(one.unread for one in checked):
        raise typer.Exit(ExitCode.FAILED)
    if strict:
        _refuse_warnings(checked, output)


def _refuse_warnings(checked: Sequence[Checked], output: Format) -> None:
    """Raises Exit where anything was warned of."""
    warned = sum(len(one.warnings) for one in checked)
    if warned:
        if output == Format.TABLE:
            stderr().print(f"{count(warned, 'warning')}, which --strict refuses", style="bold red")
        raise typer.Exit(ExitCode.INVALID)


def _print_line(one: Checked) -> None:
    if one.problems:
        return
    if not one.checked:
        stderr().print(f"{one.source}  {one.title}: not checked, because it is not of this API", style="dim")
        return
    if one.unread:
        stderr().print(
            f"{one.source}  {one.title}: {NOT_COMPARED}: {soft_wrapped(one.unread)}", style="yellow"
        )
        return
    size = ""
    if one.services is not None and one.releases is not None:
        size = f": {count(one.services, 'service')}, {count(one.releases, 'release')}"
    stdout().print(f"{one.source}  {one.title} is valid{size}")
    for line in _asked(one.asked) if one.asked else ():
        stdout().print(f"  {line}")


def _asked(asked: AskedResources) -> Iterator[str]:
    """The requests of the region's pods, and its claims; Jobs are not counted."""
    for one in asked.nodes:
        label, figures = one.label or "any node", f"{one.cpu:.2f} CPU, {_gib(one.memory)}"
        where = f"each node {label}" if one.each else f"nodes {label}, together"
        yield f"{where}: {count(one.pods, 'pod')} with {figures}"
    for marked in asked.marked:
        yield f"at least one node {marked.label}: {marked.use}"
    for claims in asked.classes:
        name = f"storage class {claims.name}" if claims.name else "the default storage class"
        yield f"{name}: {count(claims.claims, 'claim')} with {_gib(claims.size)}"


def _gib(octets: Decimal) -> str:
    return f"{octets / 1024**3:.1f} GiB"


def _asked_data(asked: AskedResources) -> dict[str, Any]:
    return {
        "nodes": [
            {
                "selector": one.label,
                "each": one.each,
                "pods": one.pods,
                "cpu": float(one.cpu),
                "memory": int(one.memory),
            }
            for one in asked.nodes
        ],
        "marked": [{"selector": one.label, "use": one.use} for one in asked.marked],
        "volumes": [
            {"storageClass": one.name, "claims": one.claims, "bytes": int(one.size)} for one in asked.classes
        ],
    }


def _print_data(checked: Sequence[Checked], problems: Sequence[Problem], output: Format) -> None:
    found_wrong = bool(problems) or any(one.unread for one in checked)
    data = {
        # Reports nothing about objects that were not checked.
        "valid": not found_wrong if found_wrong or any(one.checked for one in checked) else None,
        "problems": [asdict(problem) for problem in problems],
        "warnings": [asdict(warning) for one in checked for warning in one.warnings],
        "objects": [
            {
                "object": one.title,
                "source": one.source,
                "checked": one.checked,
                "valid": not one.problems and not one.unread if one.checked else None,
                **({"notCompared": one.unread} if one.unread else {}),
                **({"asked": _asked_data(one.asked)} if one.asked else {}),
            }
            for one in checked
        ],
    }
    print_data(data, output)
