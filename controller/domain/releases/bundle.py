"""HelmBundle: the releases of one service, as core asks for them and helmbundle serves them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from controller.domain.api.region_spec import BundleMode, VolumePolicy
from controller.domain.values.chart_values import Values

DriftMode = Literal["Correct", "Warn", "Ignore"]

DEFAULT_TIMEOUT_SECONDS = 1800


@dataclass(frozen=True)
class ChartRef:
    """The chart of a release.

    `path` is a directory or archive known to the helmbundle container (the charts shipped in the image are
    relative to its chart directory: `keystone`); `repository` an `https://`, `oci://` or `file://` address.
    Exactly one of the two is set. `version` is exact, empty for a shipped chart. `credentials_secret` (keys
    username, password) and `ca_secret` (key ca.crt) name Secrets for the repository, or are empty.
    `omit_templates` are files of the chart that Helm does not get; missing ones are ignored.
    """

    name: str
    version: str = ""
    path: str = ""
    repository: str = ""
    credentials_secret: str = ""
    ca_secret: str = ""
    omit_templates: tuple[str, ...] = ()

    @property
    def is_shipped(self) -> bool:
        """Whether it is one of the charts shipped with the controller, whose path is their name."""
        return self.path == self.name


@dataclass(frozen=True)
class DriftIgnore:
    """Accepted changes: `paths` are JSON pointers, in which `*` stands for any one part.

    A path includes fields below it. `kind` and `name` limit the rule to objects; empty means any.
    """

    kind: str = ""
    name: str = ""
    paths: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReleaseSpec:
    """One desired Helm release. `values` may hold `{"$secretRef": {"name", "key"}}` leaves.

    `depends_on` names releases of the same namespace that must be deployed (not healthy) first.
    `timeout` is in seconds and bounds one Helm action, hooks included.
    """

    name: str
    namespace: str
    chart: ChartRef
    values: Values = field(default_factory=dict)
    depends_on: tuple[str, ...] = ()
    timeout: int = DEFAULT_TIMEOUT_SECONDS
    drift: DriftMode = "Correct"
    drift_ignore: tuple[DriftIgnore, ...] = ()
    suspend: bool = False


@dataclass(frozen=True)
class PlannedSpec:
    """What is asked for next of a bundle. Only planned for, with mode Plan, and never acted upon."""

    releases: tuple[ReleaseSpec, ...]
    volumes: VolumePolicy = "Retain"


@dataclass(frozen=True)
class BundleSpec:
    """The spec of one HelmBundle. `volumes` says what becomes of claims when a release goes.

    `planned` is what the bundle is to become once its plan is approved, None where that is what it is.
    """

    releases: tuple[ReleaseSpec, ...]
    mode: BundleMode = "Apply"
    volumes: VolumePolicy = "Retain"
    planned: PlannedSpec | None = None
