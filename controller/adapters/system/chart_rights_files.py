"""The rights in our own chart: sets for OpenStack-Helm's charts, and the kinds that Helm may create."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from controller.domain.validation.chart_rights import Rights
from controller.errors import ControllerError


class RightsUnreadable(ControllerError):
    """The files of our own chart are missing or malformed."""


@dataclass(frozen=True)
class ShippedRights:
    """`sets` by name, in the order of the file; `kinds` are those that Helm may create, by API group."""

    sets: Mapping[str, Rights]
    kinds: Mapping[str, tuple[str, ...]]


def load_rights(chart: Path) -> ShippedRights:
    """From the directory of the controller's chart. Raises RightsUnreadable."""
    try:
        sets = _read(chart / "files" / "chart-rights.yaml")
        values = _read(chart / "values.yaml")
        return ShippedRights(
            {name: Rights.read(entry) for name, entry in sets.items()},
            {entry["apiGroup"]: tuple(entry["resources"]) for entry in values["rbac"]["helm"]["resources"]},
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise RightsUnreadable(f"the rights of the chart in {chart} cannot be read: {error}") from error


def _read(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
