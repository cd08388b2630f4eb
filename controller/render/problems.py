"""Problems of a rendering: where each stands, and what was not checked because of others. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from controller.domain.api.spec_rules import running_region as rules
from controller.domain.values.chart_values import parse_path
from controller.domain.values.layer_order import (
    SpecSource,
)
from controller.domain.values.source_lines import nearest_line
from controller.errors import Problem


def located(problem: Problem, spec: SpecSource) -> Problem:
    """The problem with the line of its path, when the spec came from a file and no line is known yet."""
    if problem.source or not spec.source or not problem.path.startswith("spec"):
        return problem
    line = nearest_line(spec.lines, parse_path(problem.path))
    return replace(problem, source=f"{spec.source}:{line or 1}")


def not_checked(services: Sequence[str], failed: Sequence[str]) -> Problem:
    return rules.NOT_CHECKED.at("spec", failed=", ".join(failed), services=", ".join(services))
