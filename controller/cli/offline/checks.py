"""Checks objects of files without a cluster: the common part of `osctl validate` and `osctl apply`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from controller.adapters.system.clock import SystemClock
from controller.cli.offline.cross_checks import awaited_in_vain, collisions, doubtful_maintenances
from controller.cli.offline.input_files import InputObject
from controller.cli.offline.manifests import offline_helm, render_release, size_problem
from controller.cli.offline.missing_objects import LiveObject, missing_objects, named
from controller.cli.offline.own_certificates import certificate_warnings
from controller.cli.offline.own_kinds import is_bundle, is_region, is_self_contained, misnamed
from controller.cli.offline.own_secrets import secret_warnings
from controller.cli.offline.region import OfflineRegion, OfflineRenderer
from controller.cli.offline.unread_keys import large_numbers, unread_keys
from controller.domain.backups.backup_jobs import claim_object
from controller.domain.backups.backup_spec import parse_backup_spec
from controller.domain.releases.bundle import ReleaseSpec
from controller.domain.validation.cluster.asked_resources import AskedResources, asked_resources, marked_nodes
from controller.domain.validation.cluster.pod_security import pod_security_problems
from controller.domain.validation.dangling import made_by
from controller.domain.validation.endpoint_hosts import unmade_hosts
from controller.domain.validation.object_rules import all_faults
from controller.domain.validation.printed_numbers import has_large_numbers
from controller.domain.validation.shared_claims import claim_problems
from controller.domain.validation.spec.mounted_files import NamedFile, named_files, unmounted
from controller.domain.values.chart_values import Values
from controller.errors import ChartInvalid, Problem, SpecInvalid
from controller.ports.kubernetes import NAMESPACE, KubeObject
from controller.render.region import RegionRelease

MEND = "correct the values or the chart"
NOT_COMPARED = "the fields are valid, but the values were not compared with the charts"


@dataclass(frozen=True)
class Checked:
    """One object and what was found. `services` and `releases` are counted for a region only,
    and `region` is there if it is valid; `asked` is there if its releases were rendered, and `made` is what
    they make.

    `services` and `releases` are counted for a region only. `region` is set if it is valid, and `asked` if
    its releases were rendered. `unread` says why a region's values could not be compared with its charts, or
    is empty.
    """

    title: str
    source: str
    checked: bool
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    unread: str = ""
    services: int | None = None
    releases: int | None = None
    region: OfflineRegion | None = None
    asked: AskedResources | None = None
    made: tuple[KubeObject, ...] = ()


def check_all(
    items: Sequence[InputObject],
    renderer: OfflineRenderer,
    *,
    manifests: bool = False,
    live: LiveObject | None = None,
) -> list[Checked]:
    """The problems of each object, and conflicts between them. `live` as in `check`."""
    checked = [
        replace(one, problems=(*one.problems, *wrong))
        for one, wrong in zip(
            [check(item, renderer, manifests=manifests, given=items, live=live) for item in items],
            collisions(items),
            strict=True,
        )
    ]
    if any(one.problems or one.unread for one in checked):
        return checked  # the content of a region is not known
    regions = [one.region for one in checked if one.region is not None]
    beside = zip(checked, awaited_in_vain(items, regions), doubtful_maintenances(items, regions), strict=True)
    return [replace(one, warnings=(*one.warnings, *awaited, *slow)) for one, awaited, slow in beside]


def check(
    item: InputObject,
    renderer: OfflineRenderer,
    *,
    manifests: bool = False,
    given: Sequence[InputObject] = (),
    live: LiveObject | None = None,
) -> Checked:
    """The problems of one object; objects of other products are not checked.

    `manifests`: every release is also rendered with Helm, its size estimated, and what its objects refer to
    looked for among those of all releases and `given`, and by `live` in a cluster.
    """
    region: OfflineRegion | None = None
    try:
        if is_region(item):
            region = renderer.render(item)
        elif is_bundle(item):
            releases = renderer.check_bundle(item)
            problems = _of_bundle(item, releases, renderer) if manifests else []
            if problems:
                raise SpecInvalid(problems)
        elif is_self_contained(item):
            renderer.check_self_contained(item)
        elif wrong := misnamed(item):
            raise SpecInvalid(wrong)
        else:
            return Checked(item.title, item.source, checked=False)
    except SpecInvalid as error:
        return Checked(item.title, item.source, checked=True, problems=tuple(error.problems))
    except ChartInvalid as error:
        return Checked(item.title, item.source, checked=True, unread=str(error))
    if region is None:
        return Checked(item.title, item.source, checked=True)
    bundles = region.region.bundles
    found = _rendered(region, renderer, given, live) if manifests else _rendered_in_part(region, renderer)
    now = SystemClock().now()
    served = certificate_warnings(region, given, renderer.library.catalogue, now)
    own = secret_warnings(region, given, now)
    unread = unread_keys(region.region, renderer.library.open_maps, _Texts(renderer, found.texts))
    return Checked(
        item.title,
        item.source,
        checked=True,
        problems=tuple(item.locate_all(found.problems)),
        warnings=tuple(item.locate_all((*region.region.warnings, *served, *own, *unread, *found.warnings))),
        services=len(bundles),
        releases=sum(len(bundle.releases) for bundle in bundles),
        region=region,
        asked=found.asked,
        made=tuple(obj for objects in found.made.values() for obj in objects),
    )


@dataclass
class _Rendered:
    """Mistakes and warnings that only a render by Helm shows, and the requests of the releases."""

    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    asked: AskedResources | None = None
    texts: dict[str, str] = field(default_factory=dict)  # by release
    made: dict[str, Sequence[KubeObject]] = field(default_factory=dict)  # by release
    places: dict[str, str] = field(default_factory=dict)  # the field of each release


@dataclass
class _Texts:
    """The rendered releases; those with unchanged values are reused."""

    renderer: OfflineRenderer
    made: dict[str, str]
    values: dict[str, Values] = field(default_factory=dict)

    def __call__(self, release: ReleaseSpec) -> str:
        first = self.values.setdefault(release.name, release.values)
        if release.values is first and release.name in self.made:
            return self.made[release.name]
        text = render_release(release, self.renderer.charts, offline_helm()).text
        if release.values is first:
            self.made[release.name] = text
        return text


def _of_bundle(
    item: InputObject, releases: Sequence[ReleaseSpec], renderer: OfflineRenderer
) -> list[Problem]:
    """Mistakes that only a render of a HelmBundle's releases shows."""
    helm = offline_helm()
    problems: list[Problem] = []
    for index, release in enumerate(releases):
        path = f"spec.releases[{index}]"
        try:
            rendered = render_release(release, renderer.charts, helm)
        except ChartInvalid as error:
            problems.append(Problem(path, f"release {release.name} cannot be rendered: {error}"))
            continue
        problems += _refused(path, (*rendered.manifest, *rendered.hooks))
    return item.locate_all(problems)


def _rendered(
    region: OfflineRegion,
    renderer: OfflineRenderer,
    given: Sequence[InputObject],
    live: LiveObject | None,
) -> _Rendered:
    helm = offline_helm()
    found = _Rendered()
    for bundle in region.region.bundles:
        for release in bundle.releases:
            name = release.spec.name
            path = found.places[name] = f"spec.services.{bundle.service}.{release.spec.chart.name}"
            try:
                rendered = render_release(release.spec, renderer.charts, helm)
                size, refused = size_problem(release.spec, renderer.charts, rendered)
            except ChartInvalid as error:
                found.problems.append(Problem(path, f"release {name} cannot be rendered: {error}"))
                continue
            found.made[name] = (*rendered.manifest, *rendered.hooks)
            found.texts[name] = rendered.text
            if size:
                problem = Problem(path, f"release {name}: {size}")
                (found.problems if refused else found.warnings).append(problem)
            found.problems += large_numbers(release, found.made[name])
            found.problems += _refused(path, found.made[name])
    if not found.problems:  # otherwise the objects of those releases are not known
        _compare(region, renderer, given, live, found)
    return found


def _rendered_in_part(region: OfflineRegion, renderer: OfflineRenderer) -> _Rendered:
    """What is wrong in releases that are given large numbers, or options with files, rendered for that
    alone."""
    found = _Rendered()
    for bundle in region.region.bundles:
        for release in bundle.releases:
            files = _named_files(region, release, renderer)
            if not has_large_numbers(release.spec.values) and not files:
                continue
            try:
                rendered = render_release(release.spec, renderer.charts, offline_helm())
            except ChartInvalid:
                continue  # --manifests tells why
            found.texts[release.spec.name] = rendered.text
            objects = (*rendered.manifest, *rendered.hooks)
            found.problems += large_numbers(release, objects)
            found.warnings += unmounted(release.spec.name, files, objects, made_by(objects))
    return found


def _named_files(region: OfflineRegion, release: RegionRelease, renderer: OfflineRenderer) -> list[NamedFile]:
    features, files = region.deployment.spec.features.tree, renderer.library.names.files
    return named_files(release.spec.chart.name, release.merged, files, features)


def _compare(
    region: OfflineRegion,
    renderer: OfflineRenderer,
    given: Sequence[InputObject],
    live: LiveObject | None,
    found: _Rendered,
) -> None:
    """References between objects of releases, and the requests of all."""
    made = found.made
    in_charts, to_bring = missing_objects(region, made, given, renderer.known_references, live)
    found.problems += [*claim_problems(made, found.places), *in_charts]
    found.warnings += to_bring
    every = [obj for objects in made.values() for obj in objects]
    there = made_by([*every, *named(given)])
    releases = [one for bundle in region.region.bundles for one in bundle.releases]
    for one in releases:
        name, files = one.spec.name, _named_files(region, one, renderer)
        found.warnings += unmade_hosts(name, one.merged, there)
        found.warnings += unmounted(name, files, made[name], there)
    marked = [each for one in releases for each in marked_nodes(one.spec.chart.name, one.merged.values)]
    found.warnings += pod_security_problems(_namespace_of(region, given), every)
    found.asked = asked_resources([*every, *_claims_of_backups(region)], marked)


def _claims_of_backups(region: OfflineRegion) -> list[KubeObject]:
    """The volume that the controller claims for backups: of no release, and as large as the database."""
    backup = parse_backup_spec(region.deployment.document)
    if backup is None or backup.claim is None:
        return []
    return [claim_object(backup.claim, region.deployment.namespace, {})]


def _namespace_of(region: OfflineRegion, given: Sequence[InputObject]) -> KubeObject | None:
    """The region's namespace, where the files have it."""
    name = region.deployment.namespace
    return next((one.obj for one in given if one.kind == NAMESPACE.kind and one.name == name), None)


def _refused(path: str, objects: Sequence[KubeObject]) -> list[Problem]:
    return [Problem(path, f"Kubernetes refuses {fault}", MEND) for fault in all_faults(objects)]
