"""osctl preflight: whether a cluster has everything that a region needs, before it is applied."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from controller.cli.cluster import open_cluster, open_survey
from controller.cli.cluster_checks import LiveObjects
from controller.cli.exit_codes import ExitCode
from controller.cli.offline.checks import Checked, check_all
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
from controller.cli.output import Cell, Format, print_data, print_table, stdout
from controller.cli.preflight_findings import Asked, findings
from controller.domain.validation.cluster.preflight import Finding, State
from controller.errors import ChartInvalid, Problem, SpecInvalid
from controller.settings import read_settings

_STYLES = {State.OK: "green", State.LACKS: "red", State.UNKNOWN: "yellow"}


def preflight(
    *,
    files: FileArgument = None,
    filenames: Filenames = None,
    recursive: Recursive = False,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    output: Output = Format.TABLE,
) -> None:
    """Compare a cluster with the needs of a region, before it is applied; only reads.

    Ends with 5 if something lacks, otherwise with 6 if this account may not read something.
    """
    items = read_objects(files_of(files, filenames), recursive=recursive)
    cluster = open_cluster(kubeconfig, context, "")
    live = LiveObjects(cluster)
    renderer = offline_renderer()
    renderer.learn(items)
    one = _only_region(check_all(items, renderer, manifests=True, live=live))
    chart = read_settings().crds_dir.parents[1]
    asked = Asked(cluster, live, lambda: open_survey(kubeconfig, context).server_version())
    found = list(findings(one, items, asked, chart))
    if output == Format.TABLE:
        rows = [
            (one.what, Cell(one.state.value, _STYLES[one.state]), one.found, one.needed, one.remedy)
            for one in found
        ]
        print_table(stdout(), ("WHAT", "STATE", "FOUND", "NEEDED", "REMEDY"), rows)
    else:
        lacking = any(one.state != State.OK for one in found)
        print_data({"ready": not lacking, "checks": [_as_data(one) for one in found]}, output)
    states = {one.state for one in found}
    if State.LACKS in states:
        raise typer.Exit(ExitCode.NEEDS_EDIT)
    if State.UNKNOWN in states:
        raise typer.Exit(ExitCode.REFUSED)


def _as_data(one: Finding) -> dict[str, str]:
    return {
        "what": one.what,
        "state": one.state.value,
        "found": one.found,
        "needed": one.needed,
        "remedy": one.remedy,
    }


def _only_region(checked: Sequence[Checked]) -> Checked:
    """The one valid region. Raises SpecInvalid, or ChartInvalid where its charts cannot be read."""
    if problems := [problem for one in checked for problem in one.problems]:
        raise SpecInvalid(problems)
    if unread := next((one.unread for one in checked if one.unread), ""):
        raise ChartInvalid(unread)
    regions = [one for one in checked if one.region is not None]
    if len(regions) != 1:
        raise SpecInvalid(
            [Problem("files", f"they hold {len(regions)} regions", "name the files of one region")]
        )
    return regions[0]
