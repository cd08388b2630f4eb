"""What becomes of the values of releases: what is wrong in them, and what of them Helm is given. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from controller.domain.region.external_servers import parted_databases, unread_databases
from controller.domain.region.replicas_and_resources import (
    eviction_warnings,
    limit_problems,
    pod_problems,
    pod_warnings,
)
from controller.domain.region.required_certificates import omitted_templates
from controller.domain.releases.bundle import ChartRef
from controller.domain.validation.policy_rules import policy_problems
from controller.domain.validation.spec.ports import node_port_warnings, port_problems
from controller.domain.values.chart_values import Values
from controller.domain.values.layer import Layer
from controller.domain.values.layer_order import SpecSource
from controller.domain.values.merge import MergedValues
from controller.domain.values.names.known_names import Service, unknown_options, unknown_policy_names
from controller.domain.values.names.misread_texts import misread_texts
from controller.domain.values.names.misspelt_keys import misspelt_keys
from controller.domain.values.names.wrong_option_values import with_brackets, wrong_values
from controller.domain.values.plain_text_secrets import password_problems
from controller.errors import Problem
from controller.render.missing_parts import MissingPart


def release_problems(
    release: str, merged: MergedValues, spec: SpecSource, written: Iterable[Layer], service: Service
) -> list[Problem]:
    """Every reason why a release with these values would be wrong. `written` are the operator's layers, and
    `service` is what is known of the service of its chart."""
    asked: list[Problem] = []
    for layer in written:
        refused = list(pod_problems(layer))
        asked += refused or limit_problems(layer, merged.values)
        asked += policy_problems(layer)
        asked += port_problems(layer)
    secrets = password_problems(release, merged, spec, service)
    return [*asked, *secrets, *parted_databases(release, merged)]


def written_faults(
    release: str, written: Iterable[Layer], lower: Values, final: Values, service: Service
) -> tuple[list[Problem], list[MissingPart]]:
    """Warnings of keys of the operator's layers that the chart, with the values below them, reads nothing of,
    of options and rules that the service of the chart does not have, and of what becomes of pods with the
    final values; and values of options that the service cannot read, so that the release cannot work. If the
    operator's own image may read a value, it gives a warning only."""
    warnings: list[Problem] = []
    unreadable: list[MissingPart] = []
    for layer in written:
        misspelt = list(misspelt_keys(layer, lower, service))
        told = {problem.path for problem in misspelt}
        others = (
            *pod_warnings(layer, lower, service.chart),
            *eviction_warnings(layer, final),
            *node_port_warnings(layer, final),
            *misread_texts(layer, lower),
            *unknown_options(layer, lower, service),
            *unknown_policy_names(layer, lower, service),
            *unread_databases(layer, lower, service.chart),
        )
        wrong = list(wrong_values(layer, lower, service))
        doubtful = (one.problem for one in wrong if not one.certain)
        warnings += [*misspelt, *(one for one in (*others, *doubtful) if one.path not in told)]
        unreadable += [MissingPart(release, one.problem) for one in wrong if one.certain]
    return warnings, unreadable


def sent_chart(chart: ChartRef, features: Mapping[str, Any], merged: MergedValues) -> ChartRef:
    """The chart as Helm is given it for these values: without what asks others for certificates of ours."""
    return replace(chart, omit_templates=omitted_templates(features, chart.name, merged.values))


def sent_values(chart: ChartRef, merged: MergedValues, service: Service) -> Values:
    """What is given to Helm over the chart's defaults: lists in brackets where the service reads no others.
    The charts shipped with the controller write large numbers as they are: what runs with them is not to be
    upgraded for a text in their place."""
    sent = with_brackets(merged.overlay, service)
    return sent if chart.is_shipped else service.files.with_numbers_as_text(sent)
