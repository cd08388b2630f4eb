"""From one OpenStackDeployment to the releases of a region, for core and osctl: pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.api.spec_rules.values import RELEASE_UNKNOWN
from controller.domain.backups.backup_rules import backup_warnings
from controller.domain.region.deployment import OpenStackDeployment
from controller.domain.region.feature_services import feature_service_problems
from controller.domain.region.named_charts import name_problems, name_warnings, proxy_warnings
from controller.domain.region.node_overrides import label_layers, node_layer, nodes_left_out
from controller.domain.region.required_certificates import region_certificates
from controller.domain.region.required_credentials import region_services
from controller.domain.region.service_releases import ReleaseTemplate, read_releases, unmet_dependencies
from controller.domain.region.tls_features import tls_problems, tls_warnings
from controller.domain.region.upgrade.broker_version_hops import region_steps
from controller.domain.region.upgrade.upgrade_checks import ServiceUpgradeCheck, upgrade_checks_of
from controller.domain.region.upgrade.upgrade_steps import UpgradeStep
from controller.domain.releases.bundle import BundleSpec, ReleaseSpec
from controller.domain.releases.drift.ignore_rules import drift_of, unknown_releases
from controller.domain.releases.sizes.bundle_size import size_problem
from controller.domain.validation.spec.idle_fields import idle_fields
from controller.domain.validation.spec.pairs import broken_pairs
from controller.domain.values.catalogue import CertificateRequest, CredentialSecret, ServiceEntry
from controller.domain.values.ceph_needs import CephNeeds, ceph_needs
from controller.domain.values.chart_values import DocumentPath, lookup
from controller.domain.values.chosen_services import in_order_of_need
from controller.domain.values.images import image_layer
from controller.domain.values.layer import Layer
from controller.domain.values.layer_order import (
    LayerKind,
    Layers,
    SpecSource,
    in_order,
    library_layers,
    spec_layers,
)
from controller.domain.values.merge import MergedValues, merge_layers, merge_onto
from controller.domain.values.shipped_values import Library, main_field_problems
from controller.domain.values.templates.service_template import RenderedTemplate, ServiceTemplates
from controller.domain.values.templates.template_input import RegionInput, ValueOf
from controller.errors import ChartInvalid, Problem, SpecInvalid
from controller.render.chart_builds import ChartDefaults
from controller.render.feature_warnings import feature_warnings, unknown_names
from controller.render.missing_parts import MissingPart, missing_parts
from controller.render.problems import located, not_checked
from controller.render.region_charts import RegionCharts
from controller.render.releases import release_problems, sent_chart, sent_values, written_faults
from controller.render.unused_overrides import unused_overrides

_TEMPLATES = ServiceTemplates()


@dataclass(frozen=True)
class RegionRelease:
    """One release: what is sent to Helm (`spec.values`, never with chart defaults) and how it came to be."""

    spec: ReleaseSpec
    merged: MergedValues


@dataclass(frozen=True)
class RegionBundle:
    """The releases of one service; `name` is the name of its HelmBundle, whose mode is for core to choose."""

    service: str
    name: str
    releases: tuple[RegionRelease, ...]
    spec: BundleSpec


@dataclass(frozen=True)
class Region:
    """Everything that a deployment asks for.

    `bundles` are in the order of the catalogue, `upgrade_steps` in that of an upgrade. `credentials`: Secrets
    to generate; `certificates`: those of the region's own authority; `missing`: services without a chart, and
    why; `ceph`: what is exchanged; `lacking`: what releases need and the spec does not bring."""

    bundles: tuple[RegionBundle, ...]
    credentials: tuple[CredentialSecret, ...]
    certificates: tuple[CertificateRequest, ...] = ()
    warnings: tuple[Problem, ...] = ()
    missing: Mapping[str, ChartInvalid] = field(default_factory=dict)
    ceph: CephNeeds | None = None
    lacking: tuple[MissingPart, ...] = ()
    upgrade_steps: tuple[UpgradeStep, ...] = ()
    upgrade_checks: tuple[ServiceUpgradeCheck, ...] = ()

    def release(self, name: str) -> RegionRelease | None:
        """The release of this name, None if the region has none."""
        found = (r for bundle in self.bundles for r in bundle.releases if r.spec.name == name)
        return next(found, None)


def render_region(
    deployment: OpenStackDeployment,
    library: Library,
    charts: ChartDefaults,
    *,
    lines: Mapping[DocumentPath, int] | None = None,
    source: str = "",
    partial: bool = False,
) -> Region:
    """Renders every service of the deployment and merges all layers of every release.

    `lines` and `source` are given when the deployment was read from a file: problems and provenance
    then carry `file:line`. Raises SpecInvalid with every problem found, and ChartInvalid for charts of single
    services. With `partial` neither such a chart nor what a release lacks is an error: the region says it."""
    spec = SpecSource(deployment.document, source, lines or {})
    seen = RegionCharts(deployment, library, charts)
    try:
        return _RegionRenderer(deployment, library, seen, spec, partial=partial).render()
    except SpecInvalid as error:
        raise SpecInvalid([located(problem, spec) for problem in error.problems]) from error


def template_layers(
    deployment: OpenStackDeployment,
    library: Library,
    charts: ChartDefaults,
    region: Region,
    *,
    release: str,
    value_of: ValueOf | None = None,
) -> tuple[Layer, ...]:
    """What templates write for one release when the deployment is this one; nothing else is rendered.

    Others have values of `region`, or of `value_of`. Raises ChartInvalid; SpecInvalid without the release.
    """
    owners = {one.spec.name: bundle.service for bundle in region.bundles for one in bundle.releases}
    owners |= {chart: s for s in region.missing for chart in library.catalogue[s].charts}
    done = {one.spec.name: one for bundle in region.bundles for one in bundle.releases}
    spec, seen = SpecSource(deployment.document), RegionCharts(deployment, library, charts)
    renderer = _RegionRenderer(deployment, library, seen, spec, done=done, owners=owners)
    return renderer.written_by_templates(release, value_of)


class _NotKnown(Exception):
    """A template asks for a value of a service that has errors: its own values cannot be known."""


@dataclass
class _RegionRenderer:
    """One rendering. Services are rendered after those they require, whose final values they may read."""

    deployment: OpenStackDeployment
    library: Library
    charts: RegionCharts
    spec: SpecSource
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    done: dict[str, RegionRelease] = field(default_factory=dict)
    desired: dict[str, ReleaseTemplate] = field(default_factory=dict)
    unreadable: list[MissingPart] = field(default_factory=list)
    owners: dict[str, str] = field(default_factory=dict)  # the service of each release
    failed: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)  # because the values of failed ones are missing
    partial: bool = False
    missing: dict[str, ChartInvalid] = field(default_factory=dict)
    without_chart: dict[str, ChartInvalid] = field(default_factory=dict)  # by release

    def render(self) -> Region:
        services, region_input = self._prepared()
        bundles = self._render_services(services, region_input)
        self._check_overrides(services, bundles)
        self._stop_on_problems()
        merged = {name: one.merged for name, one in self.done.items()}
        features, namespace = region_input.features, self.deployment.namespace
        lacking = (*missing_parts(self.library, features, merged, namespace), *self.unreadable)
        self.problems += [] if self.partial else [part.problem for part in lacking]
        self._stop_on_problems()
        if not self.missing:
            self.problems += unmet_dependencies(self.desired)
            self._stop_on_problems()
            spec, used = self.deployment.spec, {one.spec.chart.name for one in self.done.values()}
            self.warnings += unknown_releases(spec.drift_rules, self.done)
            self.warnings += name_warnings(spec, used, region_input.claiming)
            self.warnings += self.charts.builds.warnings()
            self.warnings += feature_warnings(features, merged, self.library, namespace)
            self.warnings += unknown_names(region_input, self.library.names)
            names = [entry.name for entry in services]
            self.warnings += idle_fields(self.deployment.document, features, names)
            self.warnings += broken_pairs(self.deployment.document, features, namespace)
            self.warnings += backup_warnings(self.deployment.document, features["database"]["backup"])
        in_order = tuple(bundles[entry.name] for entry in services if entry.name in bundles)
        certificates = region_certificates(self.deployment.spec, namespace, services)
        ceph = ceph_needs(features, {entry.name for entry in services})
        made, told = region_input.credentials(), tuple(self._located_warnings())
        steps, checks = region_steps(services, self.deployment.spec.images), upgrade_checks_of(services)
        return Region(in_order, made, certificates, told, self.missing, ceph, lacking, steps, checks)

    def written_by_templates(self, release: str, value_of: ValueOf | None) -> tuple[Layer, ...]:
        services, region_input = self._prepared()
        region_input.value_of = value_of or region_input.value_of
        for entry in services:
            template = self._service_template(entry, region_input)
            desired = read_releases(template, entry).get(release)
            if desired is not None:
                return tuple(self._template_layers(entry, desired, region_input).values())
        raise SpecInvalid([RELEASE_UNKNOWN.at("spec", release=release)])

    def _prepared(self) -> tuple[tuple[ServiceEntry, ...], RegionInput]:
        """The services, and what their templates see. Raises SpecInvalid."""
        spec = self.deployment.spec
        self.problems += main_field_problems(self.library, spec.files)
        self.problems += name_problems(spec, self.library.catalogue)
        self._stop_on_problems()
        services = region_services(spec, self.library)
        region_input = RegionInput.of(
            spec=spec,
            registry=spec.images.registry,
            source=spec.charts.source,
            library=self.library,
            services=services,
            value_of=self._value_of,
            owners=self.owners,
            knows=self.charts.knows,
            warn=self.warnings.append,
            namespace=self.deployment.namespace,
        )
        self.problems += region_input.problems
        features = spec.features.tree
        self.problems += tls_problems(features, services, self.charts.knows, spec.charts.source)
        self.problems += feature_service_problems(features, services, self.charts.knows)
        self._stop_on_problems()
        self.warnings += tls_warnings(features, services, self.charts.knows)
        return services, region_input

    def _render_services(
        self, services: tuple[ServiceEntry, ...], region_input: RegionInput
    ) -> dict[str, RegionBundle]:
        bundles: dict[str, RegionBundle] = {}
        for entry in in_order_of_need(services):
            try:
                bundles[entry.name] = self._render_service(entry, region_input)
            except ChartInvalid as error:
                if not self.partial:
                    self._stop_on_problems()
                    raise
                self.missing[entry.name] = error
                self.without_chart |= dict.fromkeys(entry.charts, error)
                self.owners.update(dict.fromkeys(entry.charts, entry.name))
            except SpecInvalid as error:
                self.problems += [p for p in error.problems if p not in self.problems]
                self.failed.append(entry.name)
                self.owners.update(dict.fromkeys(entry.charts, entry.name))
            except _NotKnown:
                self.unchecked.append(entry.name)
        if self.unchecked:
            self.problems.append(not_checked(self.unchecked, self.failed))
        return bundles

    def _render_service(self, entry: ServiceEntry, region_input: RegionInput) -> RegionBundle:
        template = self._service_template(entry, region_input)
        releases = read_releases(template, entry)
        self.desired.update(releases)
        self.owners.update(dict.fromkeys(releases, entry.name))
        problems, rendered = list[Problem](), list[RegionRelease]()
        for release, desired in releases.items():
            try:
                rendered.append(self._render_release(entry, desired, region_input))
                self.done[release] = rendered[-1]
            except ChartInvalid as error:
                self.without_chart |= dict.fromkeys(releases, error)
                raise
            except SpecInvalid as error:
                problems += error.problems
        if problems:
            raise SpecInvalid(problems)
        sent = tuple(release.spec for release in rendered)
        spec = BundleSpec(releases=sent, volumes=self.deployment.spec.volumes)
        if too_large := size_problem(entry.name, spec):
            raise SpecInvalid([too_large])
        return RegionBundle(entry.name, entry.name, tuple(rendered), spec)

    def _service_template(self, entry: ServiceEntry, region_input: RegionInput) -> RenderedTemplate:
        name = f"values/services/{entry.name}/releases.yaml.j2"
        return _TEMPLATES.render(name, self.library.templates[entry.name], region_input.context(entry))

    def _template_layers(
        self, entry: ServiceEntry, desired: ReleaseTemplate, region_input: RegionInput
    ) -> Mapping[LayerKind, Layer]:
        """What templates write for a release: for all releases, for encryption, and for its service."""
        chart = self.charts.chart(desired.chart)
        context = region_input.release_context(entry, desired.name, chart.name, self.charts.defaults(chart))
        every, tls, service = LayerKind.EVERY_RELEASE, LayerKind.INTERNAL_TLS, LayerKind.SERVICE
        return {
            every: _TEMPLATES.layer(every, "every-release", self.library.every_release, context),
            tls: _TEMPLATES.layer(tls, "internal-tls", self.library.internal_tls, context),
            service: desired.layer(entry.name),
        }

    def _render_release(
        self, entry: ServiceEntry, desired: ReleaseTemplate, region_input: RegionInput
    ) -> RegionRelease:
        release, chart = desired.name, self.charts.chart(desired.chart)
        defaults, spec = self.charts.defaults(chart), self.deployment.spec
        ours: Layers = {
            **self._template_layers(entry, desired, region_input),
            **library_layers(self.library, spec.files, chart.name, defaults),
        }
        lower = merge_layers(defaults, in_order(self.charts.builds.known_layers(chart, ours)))
        images = image_layer(spec.images, self.spec, chart.name, lower.values)
        written = spec_layers(self.spec, entry, chart.name, release)
        operators = (*in_order(written), *label_layers(self.spec, entry, chart.name))
        names = self.library.names.of(chart.name, spec.openstack_version)
        merged = merge_onto(lower, in_order({LayerKind.IMAGES: images, **written}))
        doubts, unreadable = written_faults(release, operators, lower.values, merged.values, names)
        self.warnings += doubts
        self.unreadable += unreadable
        nodes, problems = node_layer(self.spec, entry, chart.name, merged, shipped=chart.is_shipped)
        if nodes is not None:
            merged = merge_onto(merged, [nodes])
        self.warnings += nodes_left_out(chart, merged.values)
        problems += release_problems(release, merged, self.spec, operators, names)
        if problems:
            raise SpecInvalid(problems)
        drift, drift_ignore = drift_of(spec.drift, spec.drift_rules, release)
        return RegionRelease(
            ReleaseSpec(
                name=release,
                namespace=self.deployment.namespace,
                chart=sent_chart(chart, region_input.features, merged),
                values=sent_values(chart, merged, names),
                depends_on=desired.depends_on,
                timeout=desired.timeout,
                drift=drift,
                drift_ignore=desired.drift_ignore + drift_ignore,
            ),
            merged,
        )

    def _value_of(self, release: str, path: DocumentPath) -> Any:
        """The final value of a release that was rendered before; None if there is none."""
        if release in self.without_chart:
            raise self.without_chart[release]
        known = self.done.get(release)
        if known is None and self.owners.get(release) in (*self.failed, *self.unchecked):
            raise _NotKnown
        return lookup(known.merged.values, path) if known is not None else None

    def _check_overrides(
        self, services: tuple[ServiceEntry, ...], bundles: Mapping[str, RegionBundle]
    ) -> None:
        made, tags = {name: one.spec for name, one in bundles.items()}, self._image_tags(bundles)
        found = unused_overrides(self.deployment, self.library, services, made, tags)
        self.problems += [problem for problem in found if problem not in self.problems]

    def _image_tags(self, bundles: Mapping[str, RegionBundle]) -> frozenset[str]:
        values = (r.merged.values for bundle in bundles.values() for r in bundle.releases)
        return frozenset(name for each in values for name in lookup(each, ("images", "tags")) or {})

    def _located_warnings(self) -> list[Problem]:
        unique = dict.fromkeys((*self.warnings, *proxy_warnings(self.deployment.spec.proxy)))
        return [located(warning, self.spec) for warning in unique]

    def _stop_on_problems(self) -> None:
        if self.problems:
            raise SpecInvalid(self.problems)
