"""Refuses changes of version that what runs cannot take, before anything of them is applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from controller.domain.api.names import RELEASE_NAME
from controller.domain.region.allowed_version_steps import (
    KEEPERS,
    ImageStep,
    accepted_versions,
    image_problems,
    series_problems,
)
from controller.domain.region.upgrade.broker_version_hops import hop_versions
from controller.errors import Forbidden, VersionStepRefused
from controller.ports.kubernetes import STATEFULSET, Kube, KubeObject
from controller.render.region import Region


def refuse_version_steps(kube: Kube, osdpl: KubeObject, region: Region, *, upgrades: bool = False) -> None:
    """Raises VersionStepRefused where a broker, the database or OpenStack cannot become what is asked for.

    With `upgrades` an upgrade of OpenStack begins, whose steps bring a broker through the versions between.

    What runs is read from the StatefulSets of the releases: whoever has removed one with its data begins
    again. Raises KubeError.
    """
    meta, spec = osdpl["metadata"], osdpl.get("spec") or {}
    accepted, name = accepted_versions(meta.get("annotations")), str(meta["name"])
    asked = str(spec.get("openstackVersion") or "")
    namespace = str(meta["namespace"])
    problems = series_problems(osdpl.get("status") or {}, asked, accepted, name, namespace)
    running = observe_keepers(kube, namespace)
    passed = hop_versions(region.upgrade_steps) if upgrades else ()
    problems += image_problems(image_steps(region, running), accepted, name, namespace, passed)
    if problems:
        raise VersionStepRefused(problems)


def observe_keepers(kube: Kube, namespace: str) -> dict[str, str]:
    """The image of each broker's and database's server that runs, by release."""
    try:
        live = kube.list(STATEFULSET, namespace)
    except Forbidden:
        return {}  # Helm may make none either
    return {
        str((obj["metadata"].get("annotations") or {}).get(RELEASE_NAME) or ""): str(one.get("image") or "")
        for obj in live
        for one in obj["spec"]["template"]["spec"].get("containers") or []
        if one.get("name") in KEEPERS
    }


def keepers_asked_for(region: Region) -> dict[str, str]:
    """The image that is asked for of each release of a broker or database."""
    return {name: image for name, _, image in _keepers(region)}


def image_steps(region: Region, running: Mapping[str, str]) -> Iterator[ImageStep]:
    """What is asked for of each release of a broker or database that runs."""
    for name, chart, image in _keepers(region):
        if name in running:
            yield ImageStep(name, chart, running[name], image)


def _keepers(region: Region) -> Iterator[tuple[str, str, str]]:
    for bundle in region.bundles:
        for release in bundle.releases:
            chart = release.spec.chart.name
            if chart in KEEPERS:
                tags = (release.merged.values.get("images") or {}).get("tags") or {}
                yield release.spec.name, chart, str(tags.get(chart) or "")
