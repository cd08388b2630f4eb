"""The report for programs: the same lines as on the page. Pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from controller.cli.views.pages.release_graph import graph_data
from controller.cli.views.pages.report import Report
from controller.cli.views.status import as_data


def report_data(report: Report) -> dict[str, Any]:
    """Plain data with camelCase names."""
    return {
        "taken": report.taken,
        "controller": report.controller,
        "region": as_data(report.view),
        **camel_case(asdict(report.parts)),
        "graph": graph_data(report.graph),
    }


def camel_case(value: Any) -> Any:
    """The value with the names of its fields as the API writes them, and tuples as lists."""
    if isinstance(value, dict):
        return {_camel(key): camel_case(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [camel_case(item) for item in value]
    return value


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)
