"""The versions that a broker's data passes through in an upgrade: each is a step of its own. Pure.

A hop changes the image of the server and nothing else. The step after the last hop brings the rest.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from controller.domain.region.allowed_version_steps import (
    BROKER,
    ImageStep,
    Version,
    image_version,
    is_accepted,
    version_text,
    versions_between,
)
from controller.domain.region.upgrade.upgrade_steps import UpgradeStep, upgrade_steps
from controller.domain.values.catalogue import ServiceEntry
from controller.domain.values.images import ImagesSpec, mirrored

_VERSION = re.compile(r"(\d+)\.(\d+)")


def hop_version(part: str) -> Version | None:
    """The version that a part of a step's name names; None if it is another part."""
    found = _VERSION.fullmatch(part)
    return (int(found[1]), int(found[2])) if found else None


def hop_tag(chart: str, version: str) -> str:
    """The name of a hop's image under `spec.images.overrides`, such as rabbitmq-4.2."""
    return f"{chart}-{version}"


def hop_tags(services: Iterable[ServiceEntry]) -> frozenset[str]:
    """The names of the images of all hops that these services may have."""
    return frozenset(
        hop_tag(chart, version)
        for service in services
        for part in service.upgrade
        for chart, images in part.hops.items()
        for version in images
    )


def hop_images(steps: Iterable[UpgradeStep], chart: str) -> frozenset[str]:
    """The images of versions that servers of this chart may pass through."""
    return frozenset(image for step in steps for image in step.about.hops.get(chart, {}).values())


def region_steps(services: Iterable[ServiceEntry], desired: ImagesSpec) -> tuple[UpgradeStep, ...]:
    """The steps of these services, with images of hops from where the region's images come from."""
    return placed_hops(upgrade_steps(services), desired)


def hop_versions(steps: Iterable[UpgradeStep]) -> frozenset[Version]:
    """The versions of the broker that these steps can pass through."""
    found = (hop_version(one) for step in steps for one in step.about.hops.get(BROKER, {}))
    return frozenset(one for one in found if one is not None)


def placed_hops(steps: Iterable[UpgradeStep], desired: ImagesSpec) -> tuple[UpgradeStep, ...]:
    """The steps with images of hops from where the region's images come from."""

    def place(chart: str, version: str, image: str) -> str:
        own = desired.overrides.get(hop_tag(chart, version))
        return own or (mirrored(image, desired.registry) if desired.registry else image)

    return tuple(
        replace(
            step,
            about=replace(
                step.about,
                hops={
                    chart: {version: place(chart, version, image) for version, image in images.items()}
                    for chart, images in step.about.hops.items()
                },
            ),
        )
        for step in steps
    )


def with_hops(
    steps: Iterable[UpgradeStep], images: Iterable[ImageStep], accepted: Mapping[str, str]
) -> tuple[UpgradeStep, ...]:
    """The steps of an upgrade that begins, with those for versions between what runs and what is asked for.

    `accepted` are the versions by release that an operator answers for: these are reached at once.
    """
    wanted: set[Version] = set()
    known = tuple(images)
    for image in known:
        before, after = image_version(image.before), image_version(image.after)
        if image.chart != BROKER or before is None or after is None:
            continue
        if not is_accepted(accepted, image.release, image.after):
            wanted.update(versions_between(before, after))
    found: list[UpgradeStep] = []
    for step in steps:
        versions = sorted(wanted) if BROKER in step.about.hops else []
        found += [replace(step, version=version_text(one), images=known) for one in versions]
        found.append(step)
    return tuple(found)


def remembered_hops(
    steps: Iterable[UpgradeStep], names: Iterable[str], images: Iterable[ImageStep]
) -> tuple[UpgradeStep, ...]:
    """The steps of an upgrade whose status has steps of these names. `images` are those of its servers."""
    wanted: dict[str, list[Version]] = {}
    for name in names:
        service, _, part = name.partition("/")
        version = hop_version(part)
        if version is not None:
            wanted.setdefault(service, []).append(version)
    known = tuple(images)
    found: list[UpgradeStep] = []
    for step in steps:
        if step.about.hops:
            versions = sorted(wanted.get(step.service, ()))
            found += [replace(step, version=version_text(one), images=known) for one in versions]
        found.append(step)
    return tuple(found)


def hop_release(current: Mapping[str, Any], hop: UpgradeStep) -> Mapping[str, Any]:
    """What a release is from this hop on, until the next step.

    A release that is past it, or does not pass through it, stays as it is.
    """
    chart, name = str((current.get("chart") or {}).get("name")), str(current.get("name"))
    image, at = hop.about.hops.get(chart, {}).get(hop.version, ""), hop_version(hop.version)
    server = next((one for one in hop.images if one.release == name), None)
    now = image_version(server.before) if server else None
    target = image_version(server.after) if server else None
    if not image or at is None or now is None or target is None:
        return current
    if at != now and at not in versions_between(now, target):
        return current
    values = dict(current.get("values") or {})
    images = dict(values.get("images") or {})
    images["tags"] = {**(images.get("tags") or {}), chart: image}
    return {**current, "values": {**values, "images": images}}


def tag_of(release: Mapping[str, Any], name: str) -> str:
    """The image that a release has under `images.tags`; empty if it has none."""
    images = (release.get("values") or {}).get("images") or {}
    return str((images.get("tags") or {}).get(name) or "")


def hop_problems(steps: Iterable[UpgradeStep], named: Collection[str]) -> list[str]:
    """Hops without a usable image. `named` are the images under `spec.images.overrides`.

    Whoever names an image of the server of their own has to name those of the hops too: nothing else says
    where they come from.
    """
    problems = []
    for hop in (step for step in steps if step.version):
        for server in hop.images:
            image, name = hop.about.hops.get(server.chart, {}).get(hop.version, ""), server.release
            tag = hop_tag(server.chart, hop.version)
            place = f"spec.images.overrides.{tag}"
            if not image:
                continue
            if image_version(image) != hop_version(hop.version):
                problems.append(f"{place}: the tag of {image} does not begin with {hop.version}")
            elif _repository(image) != _repository(server.after) and tag not in named:
                text = f"the spec names {server.after}, and {hop.version} comes before it"
                problems.append(f"{name}: {text}: name its image in {place}")
    return problems


def _repository(image: str) -> str:
    name = image.partition("@")[0]
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}{last.partition(':')[0]}"
