"""Finds the region that differs least from running releases, by rendering regions and counting values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from controller.cli.adopting.running import RunningReleases
from controller.cli.offline.input_files import InputObject
from controller.cli.offline.region import OfflineRegion, OfflineRenderer
from controller.domain.adoption.choices import (
    feature_choices,
    services_field,
    value_choices,
    wanted_services,
)
from controller.domain.adoption.differences import differences, weight
from controller.domain.adoption.search import Choice, Found, NothingFits, search, with_field
from controller.errors import ChartInvalid, ControllerError, SpecInvalid
from controller.ports.kubernetes import OSDPL

# What a release counts that the region has and that does not run, or the reverse.
A_RELEASE = 1000


@dataclass(frozen=True)
class RegionName:
    """What the new region is called, and where it is."""

    name: str
    namespace: str

    def item(self, spec: Mapping[str, Any]) -> InputObject:
        """The OpenStackDeployment with this spec."""
        meta = {"name": self.name, "namespace": self.namespace}
        body = {"apiVersion": OSDPL.api_version, "kind": OSDPL.kind, "metadata": meta, "spec": dict(spec)}
        return InputObject(body, "")


@dataclass
class Fitting:
    """The search for the spec of a region. `charts` is its `spec.charts`. `progress` is given each field."""

    renderer: OfflineRenderer
    name: RegionName
    running: RunningReleases
    charts: Mapping[str, Any]
    progress: Callable[[int], None] = lambda tried: None
    _tried: int = 0
    _refused: ControllerError = field(default_factory=lambda: SpecInvalid(()))

    @cached_property
    def _wanted(self) -> frozenset[str]:
        return wanted_services(self.renderer.library.catalogue, self.running.releases)

    def find(self) -> Found:
        """Raises SpecInvalid and ChartInvalid if no region has these services."""
        library = self.renderer.library
        closest = min(library.presets, key=self._unlike)
        start = {
            "openstackVersion": max(library.versions),
            "preset": closest,
            "size": min(library.sizes),
            "publicDomainName": "example.org",
            **({"charts": dict(self.charts)} if self.charts else {}),
        }
        try:
            found = search(start, self._choices(), self._measure)
        except NothingFits:
            raise self._refused from None
        return Found(self._with_services(found.spec), found.difference, found.start, found.steps, found.tried)

    def render(self, spec: Mapping[str, Any]) -> OfflineRegion:
        """Raises SpecInvalid and ChartInvalid."""
        return self.renderer.render(self.name.item(spec), lacking=True)

    def _choices(self) -> list[Choice]:
        library = self.renderer.library
        spec = self.renderer.region_schema.root["properties"]["spec"]
        main = (
            Choice(("openstackVersion",), tuple(library.versions), again=True),
            Choice(("preset",), tuple(library.presets), again=True),
            Choice(("size",), tuple(library.sizes), again=True),
        )
        found = value_choices(self.running.values)
        return [*main, *found, *feature_choices(spec["properties"]["features"], self.running.values)]

    def _unlike(self, preset: str) -> int:
        """How many services of the preset differ from those that run."""
        return len(self._wanted ^ set(self.renderer.library.presets[preset].services))

    def _with_services(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """The spec with exactly the services that run."""
        preset = self.renderer.library.presets[spec["preset"]].services
        return with_field(spec, ("features", "services"), services_field(preset, self._wanted) or None)

    def _measure(self, spec: Mapping[str, Any]) -> int | None:
        self._tried += 1
        self.progress(self._tried)
        try:
            region = self.render(self._with_services(spec)).region
        except (SpecInvalid, ChartInvalid) as error:
            self._refused = error
            return None
        there = {release.spec.name: release for bundle in region.bundles for release in bundle.releases}
        found = A_RELEASE * len(there.keys() ^ self.running.releases.keys())
        for name in there.keys() & self.running.releases.keys():
            found += weight(differences(there[name].merged.values, self.running.releases[name].values))
        return found
