"""What becomes of the values of releases: what is wrong in them, and what of them Helm is given. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from controller.domain.region.external_servers import parted_databases
from controller.domain.region.pod_values import eviction_warnings, limit_problems, pod_problems, pod_warnings
from controller.domain.region.required_certificates import omitted_templates
from controller.domain.releases.bundle import ChartRef
from controller.domain.validation.policy_rules import policy_problems
from controller.domain.values.chart_values import Values
from controller.domain.values.layer_order import SpecSource
from controller.domain.values.merge import Layer, MergedValues
from controller.domain.values.names.known_names import Service, unknown_options, unknown_policy_names
from controller.domain.values.names.misread_texts import misread_texts
from controller.domain.values.names.option_kinds import wrong_values
from controller.domain.values.oslo_files import with_numbers_as_text
from controller.domain.values.password_guard import password_problems
from controller.domain.values.typos import misspelt_keys
from controller.errors import Problem


def release_problems(
    release: str, merged: MergedValues, spec: SpecSource, written: Iterable[Layer]
) -> list[Problem]:
    """Every reason why a release with these values would be wrong. `written` are the operator's layers."""
    asked: list[Problem] = []
    for layer in written:
        refused = list(pod_problems(layer))
        asked += refused or limit_problems(layer, merged.values)
        asked += policy_problems(layer)
    return [*asked, *password_problems(release, merged, spec), *parted_databases(release, merged.values)]


def written_warnings(
    written: Iterable[Layer], lower: Values, final: Values, service: Service
) -> Iterator[Problem]:
    """Keys of the operator's layers that the chart, with the values below them, reads nothing of, options and
    rules that the service of the chart does not have, values of options that it cannot read, and what becomes
    of pods with the final values."""
    for layer in written:
        misspelt = list(misspelt_keys(layer, lower, service.chart))
        told = {problem.path for problem in misspelt}
        yield from misspelt
        others = (
            *pod_warnings(layer, lower, service.chart),
            *eviction_warnings(layer, final),
            *misread_texts(layer, lower),
            *unknown_options(layer, lower, service),
            *unknown_policy_names(layer, lower, service),
            *wrong_values(layer, lower, service),
        )
        yield from (problem for problem in others if problem.path not in told)


def sent_chart(chart: ChartRef, features: Mapping[str, Any], merged: MergedValues) -> ChartRef:
    """The chart as Helm is given it for these values: without what asks others for certificates of ours."""
    return replace(chart, omit_templates=omitted_templates(features, chart.name, merged.values))


def sent_values(chart: ChartRef, merged: MergedValues) -> Values:
    """What is given to Helm over the chart's defaults. The charts shipped with the controller write large
    numbers as they are: what runs with them is not to be upgraded for a text in their place."""
    return merged.overlay if chart.is_shipped else with_numbers_as_text(merged.overlay)
