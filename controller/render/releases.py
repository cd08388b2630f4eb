"""What becomes of the merged values of one release: what is wrong in them, and what of them Helm is given."""

from __future__ import annotations

from controller.domain.region.external_servers import parted_databases
from controller.domain.releases.bundle import ChartRef
from controller.domain.values.chart_values import Values
from controller.domain.values.layer_order import SpecSource
from controller.domain.values.merge import MergedValues
from controller.domain.values.oslo_files import with_numbers_as_text
from controller.domain.values.password_guard import password_problems
from controller.errors import Problem


def release_problems(release: str, merged: MergedValues, spec: SpecSource) -> list[Problem]:
    """Every reason why a release with these values would be wrong."""
    return [*password_problems(release, merged, spec), *parted_databases(release, merged.values)]


def sent_values(chart: ChartRef, merged: MergedValues) -> Values:
    """What is given to Helm over the chart's defaults. The charts shipped with the controller write large
    numbers as they are: what runs with them is not to be upgraded for a text in their place."""
    return merged.overlay if chart.is_shipped else with_numbers_as_text(merged.overlay)
