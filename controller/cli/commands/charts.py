"""osctl charts: the builds of charts that are tested, and what a repository holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated

import typer

from controller.cli.exit_codes import ExitCode
from controller.cli.offline.charts import VARIABLES, opened_by_environment
from controller.cli.offline.input_files import read_objects
from controller.cli.offline.own_kinds import is_region
from controller.cli.offline.region import OfflineRenderer, offline_renderer
from controller.cli.options import FileArgument, Filenames, Output, Recursive, files_of
from controller.cli.output import Cell, Format, print_data, print_table, soft_wrapped, stderr, stdout
from controller.domain.region.deployment import ChartsSpec, parse_deployment
from controller.domain.region.named_charts import chart_of
from controller.domain.values.catalogue import UPSTREAM
from controller.domain.values.chart_builds import Match
from controller.errors import ChartInvalid, SpecInvalid

_STYLES = {Match.PINNED: "green", Match.PREVIOUS: "", Match.UNKNOWN: "yellow"}
# Further versions that a repository lists, shown in the table.
_SHOWN = 3


@dataclass(frozen=True)
class _Row:
    """One chart. `version` and `build` are those that a region uses from there, or why it cannot."""

    chart: str
    pinned: str
    previous: str
    repository: str = ""
    version: str = ""
    build: str = ""
    error: str = ""
    versions: Sequence[str] = ()


def charts(
    *,
    files: FileArgument = None,
    filenames: Filenames = None,
    recursive: Recursive = False,
    repository: Annotated[
        str,
        typer.Option(
            "--repository",
            metavar="ADDRESS",
            help=f"Chart repository to check; {', '.join(VARIABLES.values())} hold its credentials.",
            show_default=False,
        ),
    ] = "",
    output: Output = Format.TABLE,
) -> None:
    """List the builds of OpenStack-Helm's charts that are tested, and which of them a repository holds.

    With files, or --repository, also show the build that a region uses from there. This reads every chart,
    and pulls it if necessary.
    """
    renderer = offline_renderer()
    specs = [opened_by_environment(repository)] if repository else []
    without: list[str] = []
    given = files_of(files, filenames) if files or filenames else ()
    if given:
        items = read_objects(given, recursive=recursive)
        renderer.learn(items)
        regions = [item for item in items if is_region(item)]
        found = [parse_deployment(item.obj, renderer.region_schema) for item in regions]
        specs += [one.spec.charts for one in found if one.spec.charts.repository]
        without = [one.name for one in found if not one.spec.charts.repository]
    rows = [row for spec in specs or (None,) for row in _rows(renderer, spec)]
    if output == Format.TABLE:
        for name in without:
            text = "no spec.charts.repository: its charts are files of the controller's image"
            stderr().print(f"{name}: {text}, not builds of OpenStack-Helm", style="yellow")
        _print(renderer, rows, looked=bool(specs))
    else:
        print_data([asdict(row) for row in rows], output)
    if any(row.error for row in rows):
        raise typer.Exit(ExitCode.FAILED)


def _rows(renderer: OfflineRenderer, spec: ChartsSpec | None) -> Iterator[_Row]:
    catalogue, builds = renderer.library.catalogue, renderer.library.builds
    entries = (item for entry in catalogue.services.values() for item in entry.charts.items())
    for name, entry in entries:
        if UPSTREAM not in entry.sources:
            continue
        known = (found.charts.get(name) for found in (builds.pinned, builds.previous))
        row = _Row(name, *(build.version if build else "" for build in known))
        yield _found(renderer, row, spec) if spec is not None else row


def _found(renderer: OfflineRenderer, row: _Row, spec: ChartsSpec) -> _Row:
    library, store = renderer.library, renderer.charts
    chart = chart_of(spec, library.catalogue, library.builds, row.chart)
    row = replace(row, repository=spec.repository, version=chart.version)
    try:
        row = replace(row, versions=store.versions(chart))
        match = library.builds.match(row.chart, store.build(chart))
        return replace(row, version=store.version(chart), build=str(match))
    except (ChartInvalid, SpecInvalid) as error:
        return replace(row, error=str(error))


def _print(renderer: OfflineRenderer, rows: Sequence[_Row], *, looked: bool) -> None:
    builds = renderer.library.builds
    stderr().print(f"tested builds: {builds.pinned} (pinned), {builds.previous} (previous)", style="dim")
    if not looked:
        print_table(
            stdout(), ("CHART", "PINNED", "PREVIOUS"), [(row.chart, row.pinned, row.previous) for row in rows]
        )
        return
    head = ("CHART", "PINNED", "PREVIOUS", "THERE", "BUILD", "ALSO THERE")
    print_table(stdout(), head, [_cells(row) for row in rows])
    for error in dict.fromkeys(row.error for row in rows if row.error):
        stderr().print(f"error: {soft_wrapped(error)}", style="red")


def _cells(row: _Row) -> tuple[Cell | str, ...]:
    others = [version for version in row.versions if version != row.version]
    more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
    match = Cell(row.build, _STYLES[Match(row.build)]) if row.build else Cell("not there", "red")
    there = "" if row.error else row.version
    return row.chart, row.pinned, row.previous, there, match, ", ".join(others[:_SHOWN]) + more
