"""How releases and bundles are kept: what Helm does not see, and what is compared beside values. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from controller.domain.releases.bundle import BundleSpec, ReleaseSpec
from controller.domain.releases.drift.ignore_rules import ignore_objects
from controller.domain.shared.durations import format_duration

VOLUMES = "volumes"


@dataclass(frozen=True)
class SettingChange:
    """One setting that is to be another; `path` is that of the field of a release, of a bundle or of the
    region's spec. `does` says what the field makes the controller do, empty where that is known."""

    path: str
    before: Any
    after: Any
    does: str = ""


def release_changes(old: ReleaseSpec, new: ReleaseSpec) -> tuple[SettingChange, ...]:
    """All differences of two releases with one name, except chart and values."""
    return _different(
        ("namespace", old.namespace, new.namespace),
        ("dependsOn", list(old.depends_on), list(new.depends_on)),
        ("timeout", format_duration(old.timeout), format_duration(new.timeout)),
        ("drift", old.drift, new.drift),
        ("driftIgnore", ignore_objects(old.drift_ignore), ignore_objects(new.drift_ignore)),
        ("suspend", old.suspend, new.suspend),
    )


def bundle_changes(old: BundleSpec, new: BundleSpec) -> tuple[SettingChange, ...]:
    """All differences of two bundles, except their releases."""
    return _different(("mode", old.mode, new.mode), (VOLUMES, old.volumes, new.volumes))


def _different(*pairs: tuple[str, Any, Any]) -> tuple[SettingChange, ...]:
    return tuple(SettingChange(path, before, after) for path, before, after in pairs if before != after)
