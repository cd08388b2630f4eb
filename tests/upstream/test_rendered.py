"""Every preset, series, service and feature renders through our product from OpenStack-Helm's charts."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.cli.offline.manifests import offline_helm, render_release, size_problem
from controller.domain.region.allowed_version_steps import KEEPERS
from controller.domain.releases.bundle import ChartRef
from controller.domain.releases.immutable_fields import fixed_changes
from controller.domain.values.chart_builds import Match
from controller.domain.values.secret_refs import resolve
from controller.ports.helm import RenderedRelease
from controller.ports.kubernetes import KubeObject
from controller.reconcile.region.version_gate import keepers_asked_for
from controller.render.region import RegionRelease
from sandbox.build import ensure_binaries
from sandbox.patience import patient
from tests.fakes.option_files import option_files
from tests.render.region import library
from tests.render.specs import PAIRS
from tests.upstream import images, shapes
from tests.upstream.regions import objects, region, releases, specs, store
from tools.pins import KEYS, keys_of, read_builds, upstream_charts

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(900)]

Record = Callable[[str, object], None]
SERIES = ("2025.1", "2025.2", "2026.1")
REGIONS = ("core", "compute", "compute-baremetal", "everything", "small", "ovn-small")
FEATURES = {name: spec for name, spec in specs().items() if name not in REGIONS}
# What is drawn again at each render, whatever the values say.
RANDOM = {"gnocchi": (r"(?m)^( *RESOURCE_UUID=).*$|(configmap-bin-hash:).*$", "its test makes a resource")}
# What is said of the previous builds.
IN_CLEAR = (
    "migrations and consoles are not encrypted: this build of the nova chart has no place for what consoles "
    "need with it"
)
MEMCACHE = ["--set", "endpoints.oslo_cache.auth.memcache_secret_key=made-up"]


def made_by_product(release: RegionRelease) -> RenderedRelease:
    """As `osctl render --manifests` has it."""
    return render_release(release.spec, store(), offline_helm())


def all_of(rendered: RenderedRelease) -> list[KubeObject]:
    """The objects of a release and of its hooks."""
    return [*rendered.manifest, *rendered.hooks]


def mistakes(found: dict[str, RenderedRelease]) -> Iterator[str]:
    """What no API server would take, or would take for one object and is two."""
    identities: Counter[tuple[str, str]] = Counter()
    for release, rendered in found.items():
        for obj in all_of(rendered):
            identity = str(obj.get("kind") or ""), str((obj.get("metadata") or {}).get("name") or "")
            identities[identity] += 1
            if not obj.get("apiVersion") or not all(identity):
                yield f"{release}: an object without apiVersion, kind or name"
    yield from (f"{kind} {name}: {times} times" for (kind, name), times in identities.items() if times > 1)


@pytest.mark.parametrize("series", SERIES)
@pytest.mark.parametrize("name", REGIONS)
def test_a_region_renders_and_is_valid(charts: Path, name: str, series: str, record_property: Record) -> None:
    made = region(charts, {**specs()[name], "openstackVersion": series})
    found = {release.spec.name: made_by_product(release) for release in releases(made)}
    counts = {
        bundle.service: sum(len(all_of(found[one.spec.name])) for one in bundle.releases)
        for bundle in made.bundles
    }
    record_property("region", {"name": name, "series": series, "objects": counts})

    assert list(mistakes(found)) == []
    sizes = {one.spec.name: size_problem(one.spec, store(), found[one.spec.name]) for one in releases(made)}
    assert {name: text for name, (text, refused) in sizes.items() if refused} == {}


@pytest.mark.parametrize("name", [*FEATURES, *PAIRS])
def test_a_feature_renders_and_is_valid(charts: Path, name: str, record_property: Record) -> None:
    record_property("feature", name)
    spec = FEATURES.get(name) or {"preset": "compute", **PAIRS[name]}

    assert all(objects(release) for release in releases(region(charts, spec)))


def test_what_is_rendered_twice_is_the_same(charts: Path) -> None:
    made = list(releases(region(charts, specs()["everything"])))

    different = [one.spec.name for one in made if made_by_product(one).text != made_by_product(one).text]
    assert different == list(RANDOM)


@pytest.fixture(scope="session")
def built(charts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, completed by Helm itself."""
    if not (charts / "helm-toolkit").is_dir():
        pytest.skip("CHARTS holds archives: their dependencies are in them")
    copy = tmp_path_factory.mktemp("built")
    for name in ("helm-toolkit", *upstream_charts(library().catalogue)):
        shutil.copytree(charts / name, copy / name)
    return copy


def helm(home: Path, *arguments: str, values: str | None = None) -> str:
    command = [str(ensure_binaries().helm), *arguments]
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    answer = subprocess.run(
        command,
        env=environment,
        input=values,
        capture_output=True,
        text=True,
        timeout=patient(120),
        check=True,
    )
    return answer.stdout


@cache
def whole_region(charts: Path) -> dict[str, RegionRelease]:
    return {release.spec.chart.name: release for release in releases(region(charts, specs()["everything"]))}


@pytest.mark.parametrize("chart", upstream_charts(library().catalogue))
def test_a_chart_of_a_checkout_is_to_helm_what_helm_makes_of_it(
    charts: Path, built: Path, chart: str
) -> None:
    helm(built, "dependency", "build", str(built / chart))
    release = whole_region(charts).get(chart)
    given: dict[str, Any] = {}
    if release is not None:
        given = dict(
            resolve(release.spec.values, lambda name, key: f"made-up-{name}-{key}", option_files()).values
        )
    values = yaml.safe_dump(given)
    options = ["-f", "-", *([] if release is not None else MEMCACHE)]
    ours = store().locate(ChartRef(chart, repository=f"file://{charts}"))

    rendered = [
        helm(built, "template", chart, place, *options, values=values) for place in (ours, str(built / chart))
    ]
    drawn, _ = RANDOM.get(chart, ("$^", ""))
    assert re.sub(drawn, "", rendered[0]) == re.sub(drawn, "", rendered[1])


@pytest.mark.parametrize("chart", ["keystone", "mariadb"])
def test_an_archive_of_a_checkouts_chart_is_the_same_build(
    charts: Path, built: Path, chart: str, tmp_path: Path
) -> None:
    helm(built, "dependency", "build", str(built / chart))
    helm(built, "package", str(built / chart), "--version", "2026.1.99+abc", "-d", str(tmp_path))
    digests = [store().build(ChartRef(chart, repository=f"file://{place}")) for place in (charts, tmp_path)]

    assert digests[0] == digests[1]


@pytest.mark.parametrize("chart", upstream_charts(library().catalogue))
def test_keys_images_and_objects_of_the_pinned_charts_are_recorded(charts: Path, chart: str) -> None:
    ref = ChartRef(chart, repository=f"file://{charts}")
    if library().builds.match(chart, store().build(ref)) != Match.PINNED:
        pytest.skip("CHARTS holds another build")

    recorded = json.loads((KEYS / f"{chart}.json").read_text(encoding="utf-8"))
    assert keys_of(store().defaults(ref)) == recorded, "run `make pins CHARTS=…`"
    assert images.images_of(store().defaults(ref)) == images.recorded()["charts"][chart]
    assert shapes.shape_of(store(), ref) == shapes.recorded()[chart]


def test_what_runs_of_brokers_and_databases_is_found_by_their_names(charts: Path, previous: Path) -> None:
    """Else a step between versions that their data does not survive would not be seen."""
    for place in (charts, previous):
        made = region(place, {"preset": "core", "features": {"messaging": {"dedicatedBrokers": ["compute"]}}})
        running = {
            release.spec.name: container["image"]
            for release in releases(made)
            for obj in objects(release)
            if obj["kind"] == "StatefulSet"
            for container in obj["spec"]["template"]["spec"]["containers"]
            if container["name"] in KEEPERS
        }
        assert running == keepers_asked_for(made)
        assert running.keys() == {"mariadb", "rabbitmq", "rabbitmq-compute"}


@pytest.mark.parametrize("which", ["pinned", "previous"])
def test_builds_are_pinned_as_history_has_them(history: Path, which: str) -> None:
    pinned = getattr(library().builds, which)

    assert read_builds(history, pinned.commit, list(pinned.charts))[0] == pinned


@pytest.mark.parametrize("series", SERIES)
@pytest.mark.parametrize("name", REGIONS)
def test_a_region_of_the_previous_builds_renders_and_is_valid(
    previous: Path, name: str, series: str, record_property: Record
) -> None:
    record_property("previous", {"name": name, "series": series})
    made = region(previous, {**specs()[name], "openstackVersion": series})

    told = [
        warning.message
        for warning in made.warnings
        if "build" in warning.message and "Gnocchi" not in warning.message
    ]
    assert told == [IN_CLEAR]
    assert list(mistakes({release.spec.name: made_by_product(release) for release in releases(made)})) == []


@pytest.mark.parametrize("name", ["everything", "small", "ovn-small"])
def test_an_upgrade_from_the_previous_builds_changes_nothing_that_kubernetes_fixes(
    charts: Path, previous: Path, name: str
) -> None:
    before, after = (
        {
            (obj["kind"], obj["metadata"]["name"]): obj
            for release in releases(region(place, specs()[name]))
            for obj in objects(release)
        }
        for place in (previous, charts)
    )
    fixed = {key: fixed_changes(before[key], after[key]) for key in before.keys() & after.keys()}
    assert {key: fields for key, fields in fixed.items() if fields} == {}
