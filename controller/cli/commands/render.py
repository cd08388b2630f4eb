"""osctl render: the HelmBundles of a region, or the objects that Helm creates from them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from controller.cli.offline.input_files import read_objects
from controller.cli.offline.manifests import offline_helm, render_release, size_problem
from controller.cli.offline.region import OfflineRegion, OfflineRenderer, offline_renderer
from controller.cli.options import FileArgument, Filenames, Output, Recursive, Releases, files_of
from controller.cli.output import (
    WARNING,
    Format,
    Row,
    print_documents,
    print_problems,
    print_table,
    stderr,
    stdout,
)
from controller.cli.release_choice import choose
from controller.domain.values.chart_values import leaves


def render(
    *,
    files: FileArgument = None,
    filenames: Filenames = None,
    recursive: Recursive = False,
    releases: Releases = None,
    manifests: Annotated[
        bool,
        typer.Option(
            "--manifests", help="Print the objects that Helm creates from the charts, including hooks."
        ),
    ] = False,
    output: Output = Format.YAML,
) -> None:
    """Print what a region consists of, without a cluster; secrets are shown as references."""
    renderer = offline_renderer()
    regions = renderer.render_all(read_objects(files_of(files, filenames), recursive=recursive))
    for region in regions:
        print_problems(region.region.warnings, WARNING)
    documents: list[Any] = []
    rows: list[Row] = []
    for region in regions:
        if manifests:
            found = _manifests(region, renderer, releases)
            documents += [obj for _, obj in found]
            rows += [_object_row(release, obj) for release, obj in found]
        else:
            documents += _bundles(region, releases)
            rows += _release_rows(region, releases)
    if output != Format.TABLE:
        print_documents(documents, output)
    elif manifests:
        print_table(stdout(), ("RELEASE", "KIND", "NAME", "HOOK"), rows)
    else:
        print_table(stdout(), ("SERVICE", "RELEASE", "CHART", "VALUES", "DEPENDS ON"), rows)


def _bundles(region: OfflineRegion, names: list[str] | None) -> list[Any]:
    chosen = {release.spec.name for release in choose(region, names)}
    bundles = []
    for bundle in region.objects():
        kept = [release for release in bundle["spec"]["releases"] if release["name"] in chosen]
        if kept or not names:
            bundles.append({**bundle, "spec": {**bundle["spec"], "releases": kept}})
    return bundles


def _release_rows(region: OfflineRegion, names: list[str] | None) -> list[Row]:
    chosen = {release.spec.name for release in choose(region, names)}
    return [
        (
            bundle.service,
            release.spec.name,
            f"{release.spec.chart.name} {release.spec.chart.version}".strip(),
            str(sum(1 for _ in leaves(release.spec.values))),
            ", ".join(release.spec.depends_on),
        )
        for bundle in region.region.bundles
        for release in bundle.releases
        if release.spec.name in chosen
    ]


def _manifests(
    region: OfflineRegion, renderer: OfflineRenderer, names: list[str] | None
) -> list[tuple[str, Any]]:
    helm = offline_helm()
    found: list[tuple[str, Any]] = []
    for release in choose(region, names):
        rendered = render_release(release.spec, renderer.charts, helm)
        size, refused = size_problem(release.spec, renderer.charts, rendered)
        if size:
            style = "red" if refused else "yellow"
            stderr().print(f"release {release.spec.name}: {size}", style=style)
        found += [(release.spec.name, obj) for obj in (*rendered.hooks, *rendered.manifest)]
    return found


def _object_row(release: str, obj: Any) -> Row:
    meta = obj.get("metadata") or {}
    hook = str((meta.get("annotations") or {}).get("helm.sh/hook") or "")
    return (release, str(obj.get("kind")), str(meta.get("name")), hook)
