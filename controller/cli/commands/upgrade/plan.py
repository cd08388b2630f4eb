"""osctl upgrade plan: what an upgrade would do, step by step. Nothing begins."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from controller.cli.cluster import open_cluster
from controller.cli.commands.upgrade.status import RegionName
from controller.cli.exit_codes import ExitCode
from controller.cli.offline.input_files import InputObject
from controller.cli.offline.manifests import offline_helm
from controller.cli.offline.region import offline_renderer
from controller.cli.options import Context, Filenames, Kubeconfig, Namespace, Output
from controller.cli.output import (
    Cell,
    Format,
    print_data,
    print_notes,
    print_table,
    soft_wrapped,
    stderr,
    stdout,
)
from controller.cli.upgrade_preview import known_versions, preview_upgrade, region_of_files, running_version
from controller.cli.views.plan import grouped
from controller.cli.views.upgrade.plan import StepEffect, UpgradePreview, as_data, batch_text, gates_text
from controller.domain.region.upgrade.upgrade_state import upgrade_in
from controller.domain.shared.plurals import count
from controller.domain.validation.definitions.crd_schema import nearest
from controller.errors import Problem, SpecInvalid
from controller.ports.kubernetes import Kube, KubeObject

Version = Annotated[
    str,
    typer.Argument(
        metavar="VERSION", help='The version to upgrade to, such as "2026.1".', show_default=False
    ),
]
Manifests = Annotated[
    bool,
    typer.Option(
        "--manifests/--no-manifests", help="Render the objects, to show what restarts and which Jobs run."
    ),
]


def plan(
    version: Version,
    *,
    name: RegionName = "",
    filenames: Filenames = None,
    source: Annotated[
        str,
        typer.Option(
            "--from", metavar="VERSION", help="With -f: the version before [default: that of the file]."
        ),
    ] = "",
    manifests: Manifests = True,
    output: Output = Format.TABLE,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Show what an upgrade to VERSION would do: its steps in order, and what each of them changes.

    Nothing is changed. With -f, this works without a cluster. Exit code 1: there is something to do; 5: the
    upgrade would be refused, or another one is under way.
    """
    if filenames and name:
        raise typer.BadParameter("give a region's name, or -f FILE, not both")
    if source and not filenames:
        raise typer.BadParameter("a region of a cluster has its own version", param_hint="--from")
    kube: Kube | None = None
    if filenames:
        item = region_of_files(filenames)
        source = source or str((item.obj.get("spec") or {}).get("openstackVersion") or "")
    else:
        cluster = open_cluster(kubeconfig, context, namespace)
        kube, region = cluster.kube, cluster.find_region(name)
        item, source = InputObject(region, "cluster"), running_version(region)
        refuse_beside_another(region)
    require_version(version)
    if source == version:
        hint = "; name the version before with --from" if filenames else ""
        stdout().print(f"{item.name}: its version is {version} already{hint}")
        raise typer.Exit(ExitCode.USAGE if filenames else ExitCode.OK)
    found = preview_upgrade(item, source, version, helm=offline_helm() if manifests else None, kube=kube)
    if output == Format.TABLE:
        print_preview(stdout(), found, from_file=bool(filenames))
    else:
        print_data(as_data(found), output)
    if found.refused:
        raise typer.Exit(ExitCode.NEEDS_EDIT)
    raise typer.Exit(ExitCode.DIFFERENT)


def require_version(version: str) -> None:
    """Raises SpecInvalid for a version that this installation does not know."""
    known = known_versions(offline_renderer())
    if version not in known:
        meant = nearest(version, known)
        hint = f'did you mean "{meant}"?' if meant else f"known are: {', '.join(known)}"
        raise SpecInvalid([Problem("VERSION", f'there is no version "{version}"', hint)])


def refuse_beside_another(region: KubeObject) -> None:
    """Ends the command if an upgrade of the region is under way."""
    upgrade = upgrade_in(region.get("status") or {})
    if upgrade is not None and not upgrade.over:
        text = f"the upgrade from {upgrade.source} to {upgrade.target} is not finished"
        name = region["metadata"]["name"]
        stderr().print(f"{name}: {text}; osctl upgrade status {name} shows its steps", style="yellow")
        raise typer.Exit(ExitCode.NEEDS_EDIT)


def print_preview(console: Console, found: UpgradePreview, *, from_file: bool = False) -> None:
    """The steps in their order, then what cannot be undone and what to do next.

    `from_file`: the region is that of a file, which can be edited.
    """
    console.print(Text(found.region, "bold").append(f"  {found.summary}", "not bold"), soft_wrap=True)
    for text in found.refused:
        console.print(Text(f"  refused  {soft_wrapped(text)}", "bold red"))
    console.print()
    # Without a render nothing is known of objects.
    columns = ("", "STEP", "PHASE", "BACK", "RELEASES", *(("JOBS", "RESTARTS") if found.rendered else ()))
    print_table(console, columns, [_row(step)[: len(columns)] for step in found.steps])
    console.print()
    print_notes(console, _notes(found, from_file), 8)


def _row(one: StepEffect) -> list[Cell | str]:
    step = one.step
    if one.unchanged:
        texts = ("=", step.name, str(step.phase), "-", "no change", "none", "none")
        return [Cell(text, "dim") for text in texts]
    restarts = grouped(title.replace(" ", "/", 1) for title in one.restarts)
    pods = f" ({count(one.pods, 'pod')})" if one.pods else ""
    return [
        Cell("~", "yellow"),
        step.name,
        str(step.phase),
        Cell("yes" if one.returnable else "no", "" if one.returnable else "red"),
        ", ".join(effect.name for effect in one.releases),
        str(len(one.jobs) or "none"),
        f"{restarts}{pods}" or "none",
    ]


def _notes(found: UpgradePreview, from_file: bool) -> list[tuple[str, str]]:
    notes = [("GATES", f"checks come first, and change nothing; then {gates_text(found.policy)}")]
    if any(one.step.about.by_node for one in found.steps):
        notes.append(("NODES", batch_text(found.policy)))
    if found.no_return:
        text = f"before step {found.no_return} begins, osctl upgrade abort returns to {found.source}"
        notes.append(("BACK", f"{text}; after that only forward, or by restore of the databases"))
    region = f"{found.region} -n {found.namespace}"
    if found.refused:
        notes.append(("NEXT", "do what the refusal says; nothing begins before that"))
    else:
        edit = f'set openstackVersion: "{found.target}" in the file, and apply it; or ' if from_file else ""
        start = f"osctl upgrade start {found.target} {region}"
        notes.append(("NEXT", f"osctl upgrade check {found.target} {region}; then {edit}{start}"))
    return notes
