"""osctl diff: the effect of a change to a region's file, before it is applied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from controller.cli.comparison import beside_cluster, between_files, difference
from controller.cli.exit_codes import ExitCode
from controller.cli.offline.manifests import offline_helm
from controller.cli.options import Context, Filenames, Kubeconfig, Namespace, Output
from controller.cli.output import Format, print_data, soft_wrapped, stdout
from controller.cli.views.diff import Fate, RegionDiff, ReleaseDiff
from controller.cli.views.image_changes import ImageChange, image_changes, is_image, too_many
from controller.domain.releases.manifest_diff import ManifestDiff
from controller.domain.releases.release_settings import VOLUMES, SettingChange
from controller.domain.shared.plurals import count
from controller.domain.values.chart_values import format_path
from controller.domain.values.values_diff import ValueChange, value_text

MOST_VALUES = 40
DELETES_LATER = (
    "DELETES DATA: from now on volumes are deleted with a removed release or region, and by a change "
    "that no longer needs them"
)
_MARKS = {Fate.INSTALLED: ("+", "green"), Fate.CHANGED: ("~", "yellow"), Fate.REMOVED: ("-", "red")}


def diff(
    *,
    old: Annotated[
        str, typer.Argument(metavar="[OLD]", help="File or directory before the change.", show_default=False)
    ] = "",
    new: Annotated[
        str, typer.Argument(metavar="[NEW]", help="File or directory after the change.", show_default=False)
    ] = "",
    filenames: Filenames = None,
    manifests: Annotated[
        bool, typer.Option("--manifests/--no-manifests", help="Also compare the objects that Helm creates.")
    ] = True,
    images: Annotated[
        bool,
        typer.Option("--images", help="List every image tag that changes."),
    ] = False,
    output: Output = Format.TABLE,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Show what changes between two files, or with -f between the cluster and a file.

    Releases touched, values with the layers that set them, objects, pods that restart, Jobs that run. Many
    tags of images are summed up by image.
    Both are rendered with the charts and values of this installation. Exit code 1: there are differences;
    5: some of them would be refused; others above 1: nothing was compared.
    """
    if filenames and not (old or new):
        compared = beside_cluster(filenames, kubeconfig, context, namespace)
    elif old and new and not filenames:
        compared = between_files(old, new)
    else:
        raise typer.BadParameter("give OLD and NEW, or -f FILE to compare with the cluster")
    found = difference(compared, offline_helm() if manifests else None)
    if output == Format.TABLE:
        print_diff(stdout(), found, every_tag=images)
    else:
        print_data(as_data(found), output)
    if found.held_up:
        raise typer.Exit(ExitCode.NEEDS_EDIT)
    if not found.empty:
        raise typer.Exit(ExitCode.DIFFERENT)


def print_diff(console: Console, found: RegionDiff, *, every_tag: bool = False) -> None:
    """What changes for the whole region, a block for each release that is touched, and the sum.

    Many image tags are summed up, unless `every_tag`.
    """
    changes = image_changes(found.releases)
    folded = changes if too_many(changes) and not every_tag else ()
    if found.another:
        console.print(Text(found.another, "bold red"), soft_wrap=True)
    for text in found.refused:
        console.print(Text(f"refused  {text}", "bold red"), soft_wrap=True)
    for text in found.warnings:
        console.print(Text(f"warning  {text}", "yellow"), soft_wrap=True)
    for setting in found.settings:
        console.print(_setting_line(setting, "~ spec."), soft_wrap=True)
        if setting.does:
            console.print(Text(f"    {setting.does}", "dim"), soft_wrap=True)
        if setting.path == VOLUMES and setting.after == "Delete":
            console.print(Text(f"    {DELETES_LATER}", "bold red"), soft_wrap=True)
    if found.steps and not found.refused:
        text = f"~ upgrade in {count(len(found.steps), 'step')}, each begins when the previous one is healthy"
        console.print(f"{text} (osctl upgrade plan VERSION shows each)", soft_wrap=True)
        console.print(f"    {' → '.join(found.steps)}", soft_wrap=True)
    _print_images(console, folded)
    for one in found.releases:
        _print_release(console, one, folded)
    if found.unchanged:
        console.print(Text(f"= {count(found.unchanged, 'release')} unchanged", "dim"))
    if found.releases:
        console.print(_sum(found))


def _sum(found: RegionDiff) -> str:
    parts = [f"{count(len(found.releases), 'release')} touched"]
    if any(one.objects is not None for one in found.releases):
        parts.append(f"{count(found.restarts, 'workload')} restarted{_pods(found)}")
    if found.stopped:
        parts.append(f"{count(len(found.stopped), 'release')} CANNOT BE UPGRADED: {', '.join(found.stopped)}")
    if found.migrating:
        parts.append(f"migrates the data of {count(len(found.migrating), 'release')}, which cannot go back")
    if found.losses:
        parts.append(f"DELETES THE DATA of {', '.join(found.losses)}")
    return ", ".join(parts)


def _pods(found: RegionDiff) -> str:
    """The number of pods; the number of nodes is not known here."""
    parts = [count(found.pods, "pod")] if found.restarts > found.on_each_node else []
    if found.on_each_node:
        parts.append(f"all pods of {count(found.on_each_node, 'DaemonSet')}, on every node")
    return f" ({', and '.join(parts)})" if parts else ""


def _print_images(console: Console, folded: Sequence[ImageChange]) -> None:
    if not folded:
        return
    places = sum(one.places for one in folded)
    console.print(f"~ {count(len(folded), 'image')} in {count(places, 'place')} (--images lists each)")
    for one in folded:
        console.print(_image_line(one), soft_wrap=True)


def _image_line(one: ImageChange) -> Text:
    repository, before, after = one.parts
    line = Text(f"    {repository}  " if repository else "    ")
    line.append(before, "red").append(" → ").append(after, "green")
    releases = one.releases[0] if len(one.releases) == 1 else count(len(one.releases), "release")
    return line.append(f"  ({count(one.places, 'place')} of {releases})", "dim")


def _print_release(console: Console, one: ReleaseDiff, folded: Sequence[ImageChange]) -> None:
    mark, style = _MARKS[one.fate]
    line = Text(f"{mark} {one.release}", f"bold {style}")
    if one.fate == Fate.REMOVED:
        line.append("  uninstalled; ", "not bold")
        line.append("DELETES ITS VOLUMES AND THEIR DATA" if one.loses_data else "the volumes stay")
    elif one.fate == Fate.INSTALLED:
        line.append(f"  installed again, from chart {one.chart}", "not bold")
    elif one.chart:
        line.append(f"  chart {one.chart}", "not bold")
    console.print(line)
    for setting in one.settings:
        console.print(_setting_line(setting, "    "), soft_wrap=True)
    _print_values(console, one, folded)
    for name in one.renames:
        text = f"renames   DaemonSet {name}: all its pods restart at once, on every node"
        console.print(Text(f"    {text}", "yellow"))
    if one.size:
        console.print(Text(f"    size      {one.size}", "bold red" if one.too_large else "yellow"))
    if one.objects is not None:
        _print_objects(console, one, one.objects)


def _print_values(console: Console, one: ReleaseDiff, folded: Sequence[ImageChange]) -> None:
    values = [change for change in one.values if not (folded and is_image(change))]
    for change in values[:MOST_VALUES]:
        console.print(_change_line(change), soft_wrap=True)
    if len(values) > MOST_VALUES:
        console.print(f"    and {count(len(values) - MOST_VALUES, 'more value')} (-o yaml shows all)")
    if names := dict.fromkeys(image.name for image in folded if one.release in image.releases):
        console.print(Text("    images    ", "dim").append(", ".join(names), "not dim"), soft_wrap=True)


def _print_objects(console: Console, one: ReleaseDiff, objects: ManifestDiff) -> None:
    for text in objects.refused:
        console.print(Text(f"    refused   {text}", "bold red"), soft_wrap=True)
    lists = (
        ("creates", objects.created),
        ("changes", objects.changed),
        ("keeps", objects.kept),
        ("deletes", objects.deleted),
        ("restarts", objects.restarts),
        ("runs jobs", objects.jobs),
    )
    nothing = not (objects.refused or any(names for _, names in lists[:-1]))
    if one.fate == Fate.CHANGED and (one.values or one.chart) and nothing:
        console.print(Text("    changes   ", "dim").append("no object", "not dim"))
    for title, names in lists:
        if names:
            console.print(Text(f"    {title:<10}", "dim").append(_grouped(names), "not dim"))


def _grouped(titles: Sequence[str]) -> str:
    """`Deployment nova-api, nova-scheduler; DaemonSet nova-compute`; names without a kind as they are."""
    kinds: dict[str, list[str]] = {}
    for title in titles:
        kind, _, name = title.rpartition(" ")
        kinds.setdefault(kind, []).append(name)
    return "; ".join(f"{kind} {', '.join(names)}".strip() for kind, names in kinds.items())


def _setting_line(change: SettingChange, prefix: str) -> Text:
    line = Text(f"{prefix}{change.path}  ")
    line.append(soft_wrapped(value_text(change.before)), "red")
    line.append(" → ")
    return line.append(soft_wrapped(value_text(change.after)), "green")


def _change_line(change: ValueChange) -> Text:
    line = Text(f"    {format_path(change.path)}  ")
    line.append(soft_wrapped(value_text(change.before)), "red")
    line.append(" → ")
    line.append(soft_wrapped(value_text(change.after)), "green")
    layers = dict.fromkeys(layer for layer in (change.layer_before, change.layer_after) if layer)
    where = "  ".join(part for part in (" → ".join(layers), change.place) if part)
    return line.append(f"  ({where})", "dim") if where else line


def as_data(found: RegionDiff) -> dict[str, Any]:
    """The difference as plain data; secrets are references."""
    return {
        **({"another": found.another} if found.another else {}),
        **({"refused": list(found.refused)} if found.refused else {}),
        **({"warnings": list(found.warnings)} if found.warnings else {}),
        "unchanged": found.unchanged,
        **({"settings": _settings(found.settings)} if found.settings else {}),
        **({"dataLost": list(found.losses)} if found.losses else {}),
        **({"dataMigrated": list(found.migrating)} if found.migrating else {}),
        **({"upgradeSteps": list(found.steps)} if found.steps else {}),
        "images": [
            {"before": one.before, "after": one.after, "places": one.places, "releases": list(one.releases)}
            for one in image_changes(found.releases)
        ],
        "releases": [
            {
                "name": one.release,
                "service": one.service,
                "fate": str(one.fate),
                **({"chart": one.chart} if one.chart else {}),
                **({"settings": _settings(one.settings)} if one.settings else {}),
                "values": [
                    {
                        "path": format_path(change.path),
                        "before": value_text(change.before, 4096),
                        "after": value_text(change.after, 4096),
                        "layerBefore": change.layer_before,
                        "layerAfter": change.layer_after,
                        "place": change.place,
                    }
                    for change in one.values
                ],
                **({"cannotBeUpgraded": True} if one.stopped else {}),
                **({"renames": list(one.renames)} if one.renames else {}),
                **({"size": one.size} if one.size else {}),
                **({"objects": _objects(one)} if one.objects is not None else {}),
            }
            for one in found.releases
        ],
    }


def _settings(changes: Sequence[SettingChange]) -> list[dict[str, str]]:
    return [
        {
            "path": change.path,
            "before": value_text(change.before, 4096),
            "after": value_text(change.after, 4096),
            **({"does": change.does} if change.does else {}),
        }
        for change in changes
    ]


def _objects(one: ReleaseDiff) -> dict[str, Any]:
    assert one.objects is not None  # noqa: S101 - asked by the caller
    return {
        "created": list(one.objects.created),
        "changed": list(one.objects.changed),
        "deleted": list(one.objects.deleted),
        **({"kept": list(one.objects.kept)} if one.objects.kept else {}),
        "restarts": list(one.objects.restarts),
        "pods": one.objects.pods,
        "jobs": list(one.objects.jobs),
        **({"refused": list(one.objects.refused)} if one.objects.refused else {}),
    }
