"""Renders regions from files as core renders them from the cluster, with the line of every value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

from controller.adapters.charts.source import ChartStore
from controller.adapters.system.crd_files import load_schema
from controller.adapters.system.reference_files import load_known_references
from controller.adapters.system.values_files import load_library, load_option_defaults
from controller.cli.offline.charts import GivenSecrets, offline_charts
from controller.cli.offline.input_files import InputObject
from controller.cli.offline.own_kinds import all_misnamed, is_region
from controller.domain.api.names import DEPLOYMENT_LABEL, SERVICE_LABEL
from controller.domain.api.object_meta import parse_meta
from controller.domain.region.deployment import OpenStackDeployment, parse_deployment
from controller.domain.releases.bundle import ReleaseSpec
from controller.domain.releases.bundle_object import bundle_object, parse_bundle
from controller.domain.validation.definitions.crd_schema import ResourceSchema
from controller.domain.validation.known_references import KnownReferences
from controller.domain.validation.metadata_rules import metadata_problems
from controller.domain.values.layer import Layer
from controller.domain.values.names.option_defaults import OptionDefaults
from controller.domain.values.shipped_values import Library
from controller.domain.values.templates.template_input import ValueOf
from controller.errors import Problem, SpecInvalid
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, HELMBUNDLE, OSDPL, RESTORE, SERVER, KubeObject
from controller.render.region import Region, render_region, template_layers
from controller.settings import Settings, read_settings

DEFAULT_NAMESPACE = "openstack"


@dataclass(frozen=True)
class OfflineRegion:
    """A region rendered from a file."""

    item: InputObject
    deployment: OpenStackDeployment
    region: Region

    @property
    def written(self) -> Region:
        """With the region's mode in its bundles, as core sets it."""
        mode = self.deployment.spec.mode
        bundles = (replace(one, spec=replace(one.spec, mode=mode)) for one in self.region.bundles)
        return replace(self.region, bundles=tuple(bundles))

    def objects(self) -> list[KubeObject]:
        """The HelmBundles that core would write, without facts of a cluster."""
        return [
            bundle_object(
                name=bundle.name,
                namespace=self.deployment.namespace,
                spec=bundle.spec,
                labels={DEPLOYMENT_LABEL: self.deployment.name, SERVICE_LABEL: bundle.service},
            )
            for bundle in self.written.bundles
        ]


@dataclass
class OfflineRenderer:
    """Definitions, values library and charts of this installation; each read on first use."""

    settings: Settings = field(default_factory=read_settings)
    secrets: GivenSecrets = field(default_factory=GivenSecrets)

    @cached_property
    def charts(self) -> ChartStore:
        """The charts that releases are made of."""
        return offline_charts(self.settings.charts_dir, self.secrets, self.library.builds)

    @cached_property
    def library(self) -> Library:
        """The catalogue and all values of ours."""
        return load_library(self.settings.values_dir)

    @cached_property
    def option_defaults(self) -> OptionDefaults:
        """What options are where nothing sets them."""
        return load_option_defaults(self.settings.values_dir)

    @cached_property
    def known_references(self) -> KnownReferences:
        """References to objects that no release contains, which are not mistakes."""
        return load_known_references(self.settings.values_dir)

    @cached_property
    def region_schema(self) -> ResourceSchema:
        """The definition of a region."""
        return load_schema(self.settings.crds_dir, OSDPL.plural)

    @cached_property
    def _bundle_schema(self) -> ResourceSchema:
        return load_schema(self.settings.crds_dir, HELMBUNDLE.plural)

    @cached_property
    def _other_schemas(self) -> dict[str, ResourceSchema]:
        others = (COMPUTE_MAINTENANCE, RESTORE, SERVER)
        return {one.kind: load_schema(self.settings.crds_dir, one.plural) for one in others}

    def schema_of(self, kind: str) -> ResourceSchema:
        """The definition of a kind of ours."""
        own = {OSDPL.kind: self.region_schema, HELMBUNDLE.kind: self._bundle_schema}
        return own.get(kind) or self._other_schemas[kind]

    def learn(self, items: Sequence[InputObject]) -> None:
        """Remembers objects that others need: Secrets with credentials of a chart repository."""
        self.secrets.learn(item.obj for item in items)

    def render(self, item: InputObject, *, lacking: bool = False) -> OfflineRegion:
        """Raises SpecInvalid, with file and line of every problem, and ChartInvalid.

        With `lacking`, missing objects of releases are in the result instead of an error, because the
        releases may already run.
        """
        with _located(item):
            deployment = parse_deployment(item.obj, self.region_schema)
            deployment = replace(deployment, namespace=deployment.namespace or DEFAULT_NAMESPACE)
            region = render_region(
                deployment, self.library, self.charts, lines=item.lines, source=item.source, partial=lacking
            )
            for error in region.missing.values():
                raise error
        return OfflineRegion(item, deployment, region)

    def template_layers(
        self,
        region: OfflineRegion,
        release: str,
        spec: Mapping[str, Any],
        *,
        library: Library | None = None,
        value_of: ValueOf | None = None,
    ) -> tuple[Layer, ...]:
        """The output of templates for a release with another spec or library.

        `value_of` returns the values of other releases instead of the region. Raises SpecInvalid.
        """
        deployment = parse_deployment({**region.item.obj, "spec": spec}, self.region_schema)
        deployment = replace(deployment, namespace=region.deployment.namespace)
        return template_layers(
            deployment,
            library or self.library,
            self.charts,
            region.region,
            release=release,
            value_of=value_of,
        )

    def check_bundle(self, item: InputObject) -> tuple[ReleaseSpec, ...]:
        """The releases of a HelmBundle. Raises SpecInvalid when it is wrong."""
        with _located(item):
            _check_schema(item, self._bundle_schema)
            return parse_bundle(item.obj).spec.releases

    def check_self_contained(self, item: InputObject) -> None:
        """Raises SpecInvalid when a ComputeMaintenance, an OpenStackServer or a RegionRestore is wrong."""
        with _located(item):
            parse_meta(item.obj)
            _check_schema(item, self._other_schemas[item.kind])

    def render_all(self, items: Sequence[InputObject], *, lacking: bool = False) -> tuple[OfflineRegion, ...]:
        """All regions among the objects. Raises SpecInvalid with the problems of all, or if there is none.
        `lacking`: as of `render`."""
        regions: list[OfflineRegion] = []
        problems: list[Problem] = all_misnamed(items)
        self.learn(items)
        for item in items:
            if not is_region(item):
                continue
            try:
                regions.append(self.render(item, lacking=lacking))
            except SpecInvalid as error:
                problems += error.problems
        if not regions and not problems:
            kinds = ", ".join(sorted({item.kind for item in items}))
            problems.append(Problem("kind", f"no {OSDPL.kind} among the objects", f"there is: {kinds}"))
        if problems:
            raise SpecInvalid(problems)
        return tuple(regions)

    def render_one(self, items: Sequence[InputObject], *, lacking: bool = False) -> OfflineRegion:
        """The only region among the objects. Raises SpecInvalid also when there are several. `lacking`: as of
        `render`."""
        regions = self.render_all(items, lacking=lacking)
        if len(regions) > 1:
            second = regions[1].item
            raise SpecInvalid(
                [second.locate(Problem("kind", "a second region", "give one region at a time"))]
            )
        return regions[0]


@cache
def offline_renderer() -> OfflineRenderer:
    """The single instance of this process, so that files are read once."""
    return OfflineRenderer()


@contextmanager
def _located(item: InputObject) -> Iterator[None]:
    """Raises SpecInvalid with the lines of errors within, and with problems in the metadata."""
    problems = metadata_problems(item.obj)
    try:
        yield
    except SpecInvalid as error:
        located = {problem.path for problem in problems}
        problems += [problem for problem in error.problems if problem.path not in located]
    if problems:
        raise SpecInvalid(item.locate_all(problems))


def _check_schema(item: InputObject, schema: ResourceSchema) -> None:
    problems = schema.problems(schema.defaulted(item.obj))
    if problems:
        raise SpecInvalid(problems)
