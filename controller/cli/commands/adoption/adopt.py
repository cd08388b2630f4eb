"""osctl adopt: a region for releases that run already."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from controller.cli.adopting.fitting import Fitting, RegionName
from controller.cli.adopting.leftovers import Leftovers, LeftoverSearch
from controller.cli.adopting.objects import ObjectComparison
from controller.cli.adopting.report import Report
from controller.cli.adopting.running import RunningReleases, completed, of_cluster, of_files
from controller.cli.cluster import open_cluster
from controller.cli.offline.manifests import offline_helm
from controller.cli.offline.region import DEFAULT_NAMESPACE, OfflineRenderer, offline_renderer
from controller.cli.options import Context, Kubeconfig, Namespace, Output
from controller.cli.output import (
    Format,
    print_data,
    print_notes,
    print_table,
    soft_wrapped,
    stderr,
    stdout,
    yaml_text,
)
from controller.domain.adoption.written_spec import commented_yaml
from controller.domain.region.deployment import ChartsSpec
from controller.domain.region.named_charts import chart_of
from controller.domain.values.catalogue import EMBEDDED, UPSTREAM
from controller.domain.values.chart_values import Values
from controller.errors import ObjectMissing
from controller.ports.kubernetes import SECRET

_HEADERS = ("RELEASE", "CHART", "VALUES", "OBJECTS THAT DIFFER", "RESTARTS")
REGION, SECRETS, HAND_OVER, REPORT = "region.yaml", "secrets.yaml", "hand-over.sh", "report.txt"


def adopt(
    *,
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--values",
            metavar="RELEASE=FILE|DIRECTORY",
            help="Values of running releases (helm get values RELEASE --all) in place of Helm's records.",
            show_default=False,
        ),
    ] = None,
    charts: Annotated[
        str,
        typer.Option(
            "--charts",
            metavar="ADDRESS",
            help="Repository of the charts from which the releases were installed.",
            show_default=False,
        ),
    ] = "",
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the region.")] = "region-one",
    write: Annotated[
        Path | None,
        typer.Option(
            "--write",
            metavar="DIRECTORY",
            help="Directory for the output: the region, its Secrets, the hand-over commands, and the report.",
            show_default=False,
        ),
    ] = None,
    output: Output = Format.TABLE,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Write a region for releases that another Helm installed, so that taking them over restarts nothing.

    Nothing in the cluster is changed. The region is the one whose values differ least; what still differs
    becomes values of the operator, each with its reason. Secrets get all passwords of the running releases.
    """
    renderer = offline_renderer()
    known = _charts_of(renderer, charts)
    if values:
        place = namespace or DEFAULT_NAMESPACE
        running = completed(of_files(values, known), _defaults_of(renderer, charts))
    else:
        cluster = open_cluster(kubeconfig, context, namespace)
        place = cluster.namespace or DEFAULT_NAMESPACE
        running = of_cluster(cluster.kube, place, known)
    _check(running, place)
    report = _report(renderer, RegionName(name, place), running, charts)
    if output == Format.TABLE:
        print_table(stdout(), _HEADERS, report.rows())
        print_notes(stdout(), report.sentences())
    else:
        print_data(report.data(), output)
    if write is not None:
        _write(write, report)
        stderr().print(soft_wrapped(_next_steps(write, place, hands_over=any(report.hand_over()))))


def _check(running: RunningReleases, namespace: str) -> None:
    if not running.releases:
        there = "; ".join(f"{one}: {why}" for one, why in running.left_out.items()) or "no release at all"
        raise ObjectMissing(f"namespace {namespace} has no release that a region could have: {there}")


def _charts_of(renderer: OfflineRenderer, repository: str) -> list[str]:
    """The charts that a region can have from there."""
    source = UPSTREAM if repository else EMBEDDED
    services = renderer.library.catalogue.services.values()
    return [name for one in services for name, chart in one.charts.items() if chart.offered_by(source)]


def _defaults_of(renderer: OfflineRenderer, repository: str) -> Callable[[str], Values]:
    """By the name of a chart, its values.yaml: of the build that a region has from there."""
    charts = ChartsSpec("", repository, {}, "", "")
    library = renderer.library

    def defaults(name: str) -> Values:
        return renderer.charts.defaults(chart_of(charts, library.catalogue, library.builds, name))

    return defaults


def _report(renderer: OfflineRenderer, name: RegionName, running: RunningReleases, repository: str) -> Report:
    console = stderr()
    with console.status("…") as shown:
        fitting = Fitting(
            renderer,
            name,
            running,
            _chart_fields(repository, running),
            progress=lambda tried: shown.update(f"region {tried} is compared"),
        )
        found = fitting.find()
        leftovers = LeftoverSearch(fitting, found.spec).find()
        files = renderer.library.names.files
        objects = ObjectComparison(leftovers, renderer.charts, offline_helm(), files)
        compared = objects.all(running.releases.values())
    return Report(name.namespace, running, found, leftovers, compared)


def _chart_fields(repository: str, running: RunningReleases) -> dict[str, Any]:
    """`spec.charts`, with the builds that run where a repository has several of them."""
    if not repository:
        return {}
    versions = {one.chart: one.chart_version for one in running.releases.values() if one.chart_version}
    several = "://" in repository and not repository.startswith("file:")
    return {"repository": repository, **({"versions": versions} if several and versions else {})}


def _write(directory: Path, report: Report) -> None:
    """Writes all files; that of the Secrets can be read by its owner alone."""
    leftovers = report.leftovers
    directory.mkdir(parents=True, exist_ok=True)
    body = leftovers.region.item.obj
    region = {**body, "spec": {**leftovers.spec, "mode": "Plan"}}
    (directory / REGION).write_text(commented_yaml(region, leftovers.notes), encoding="utf-8")
    (directory / REPORT).write_text(yaml_text(report.data()), encoding="utf-8")
    commands = "".join(f"{one}\n" for one in report.hand_over())
    (directory / HAND_OVER).write_text(f"#!/bin/sh\nset -eu\n{commands}", encoding="utf-8")
    _write_private(directory / SECRETS, yaml_text(_secrets(leftovers, report.namespace)))


def _write_private(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(opened, "w", encoding="utf-8") as file:
        file.write(text)


def _secrets(leftovers: Leftovers, namespace: str) -> dict[str, Any]:
    """One List. A credential without a text is generated by the controller."""
    texts = {one.name: one.data for one in leftovers.credentials} | dict(leftovers.secrets)
    items = [_secret(name, namespace, data) for name, data in sorted(texts.items())]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def _secret(name: str, namespace: str, texts: Mapping[str, str]) -> dict[str, Any]:
    meta = {"name": name, "namespace": namespace}
    body = {"apiVersion": SECRET.api_version, "kind": SECRET.kind, "metadata": meta, "type": "Opaque"}
    return {**body, "stringData": dict(texts)}


def _next_steps(directory: Path, namespace: str, *, hands_over: bool) -> str:
    hand_over = f"sh {directory / HAND_OVER}\n" if hands_over else ""
    return f"""written to {directory}; next:
kubectl create -f {directory / SECRETS} && rm {directory / SECRETS}
osctl apply -f {directory / REGION}
{hand_over}osctl plan -n {namespace}"""
