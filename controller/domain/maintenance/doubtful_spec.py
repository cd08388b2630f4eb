"""What of a ComputeMaintenance's spec cannot be meant: values that hold only together. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.maintenance.maintenance_spec import MaintenanceSpec, parse_spec
from controller.domain.maintenance.move_choice import Mode
from controller.domain.shared.durations import format_duration
from controller.errors import Problem

# Fields that count with one mode only.
_OF_MODE: Mapping[str, Mode] = {
    "fenced": Mode.EVACUATE,
    "localDisks": Mode.EVACUATE,
    "limits": Mode.MIGRATE,
    "onUnmovable": Mode.MIGRATE,
}
# What the API server writes where the field is not given.
_DEFAULTS = {"localDisks": "Block", "onUnmovable": "Block"}


def doubtful_fields(obj: Mapping[str, Any]) -> Iterator[Problem]:
    """A warning for each, of an object that its definition takes."""
    given, spec = obj["spec"], parse_spec(obj)
    yield from _deadlines(spec)
    if spec.mode != Mode.CORDON and spec.per_host > spec.per_region:
        most = spec.per_region
        text = (
            f"at most {most} servers of the region move at a time, so {spec.per_host} servers of "
            "this node never move together"
        )
        remedy = f"set serversPerRegion to {spec.per_host} or more, or lower serversPerNode"
        yield Problem("spec.budgets.serversPerNode", text, remedy)
    for field, mode in _OF_MODE.items():
        if given.get(field) and given[field] != _DEFAULTS.get(field) and spec.mode != mode:
            text = f"has no effect with mode {spec.mode}"
            yield Problem(f"spec.{field}", text, f"set mode to {mode}, or remove the field")
    if spec.mode == Mode.CORDON:
        for field in ("budgets", "deadlines"):
            if given.get(field):
                text = f"has no effect with mode {spec.mode}, which moves no server"
                yield Problem(f"spec.{field}", text, f"set mode to {Mode.MIGRATE}, or remove the field")


def _deadlines(spec: MaintenanceSpec) -> Iterator[Problem]:
    if spec.mode != Mode.CORDON and spec.server_deadline > spec.deadline:
        one, whole = (format_duration(int(each)) for each in (spec.server_deadline, spec.deadline))
        text = f"one server may take {one}, but the whole maintenance ends after {whole}"
        yield Problem("spec.deadlines.server", text, "set deadlines.whole to more than deadlines.server")
