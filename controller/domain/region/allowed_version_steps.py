"""Changes of version that what runs cannot take: of OpenStack, of its broker and of its database. Pure.

RabbitMQ's steps are those of its upgrade guide (rabbitmq.com/docs/upgrade) and release notes: 4.3 takes the
data of 4.2 alone, 4.0 to 4.2 that of 3.13, and each version before that of the one before it. OpenStack
migrates its databases forward only, and neither RabbitMQ nor MariaDB reads what a newer one has written.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.names import ACCEPT_VERSION_ANNOTATION
from controller.domain.api.spec_rules import charts_and_services as rules
from controller.errors import Problem

Version = tuple[int, int]

OPENSTACK = "openstack"
BROKER, DATABASE = "rabbitmq", "mariadb"
# The chart, whose container and whose tag under `images.tags` have its name: what keeps data by its version.
KEEPERS: Mapping[str, str] = {BROKER: "RabbitMQ", DATABASE: "MariaDB"}
# The guide to do each of these nevertheless.
GUIDE = "docs/upgrade.md, The broker's own version"

_STEPS: Mapping[Version, tuple[Version, ...]] = {
    (3, 10): ((3, 11),),
    (3, 11): ((3, 12),),
    (3, 12): ((3, 13),),
    (3, 13): ((4, 0), (4, 1), (4, 2)),
    (4, 0): ((4, 1), (4, 2)),
    (4, 1): ((4, 2),),
    (4, 2): ((4, 3),),
}
_TAG = re.compile(r"v?(\d{1,3})\.(\d{1,3})(?![\d])")
_SERIES = re.compile(r"(\d{4})\.(\d)")


@dataclass(frozen=True)
class ImageStep:
    """The image of the server of a broker or database: what runs, and what is asked for."""

    release: str
    chart: str
    before: str
    after: str


def image_version(image: str) -> Version | None:
    """The first two numbers of an image's tag; None where it names no version, as `latest` or a digest."""
    name = image.partition("@")[0]
    tag = name.rpartition("/")[2].partition(":")[2]
    found = _TAG.match(tag)
    return (int(found[1]), int(found[2])) if found else None


def accepted_versions(annotations: Mapping[str, Any] | None) -> dict[str, str]:
    """What an operator has accepted: `rabbitmq=4.3,openstack=2025.2`, by name of release or OPENSTACK."""
    text = str((annotations or {}).get(ACCEPT_VERSION_ANNOTATION) or "")
    parts = (part.partition("=") for part in text.split(","))
    return {name.strip(): version.strip() for name, _, version in parts if version.strip()}


def versions_between(before: Version, after: Version) -> tuple[Version, ...]:
    """The versions of RabbitMQ that its data must pass through; empty if it needs none, or has no way."""
    return () if after in _followers(before) else _way(before, after)


def is_accepted(accepted: Mapping[str, str], release: str, image: str) -> bool:
    """Whether an operator answers for this image of a release."""
    version = image_version(image)
    return version is not None and accepted.get(release) == version_text(version)


def image_problems(
    steps: Iterable[ImageStep],
    accepted: Mapping[str, str],
    region: str,
    namespace: str,
    passed: Collection[Version] = (),
) -> list[Problem]:
    """Steps that the data of a broker or database does not survive. An image without a version in its tag is
    ignored. `region` and `namespace` are those of the OpenStackDeployment. `passed` are versions of
    the broker that an upgrade of OpenStack can pass through."""
    problems = []
    for step in steps:
        before, after = image_version(step.before), image_version(step.after)
        if before is None or after is None or is_accepted(accepted, step.release, step.after):
            continue
        between = versions_between(before, after) if step.chart == BROKER else ()
        if between and all(one in passed for one in between):
            continue
        if obstacle := _obstacle(step.chart, before, after):
            message, remedy = obstacle
            old, new = version_text(before), version_text(after)
            what = f"{KEEPERS[step.chart]} {old} runs in release {step.release}, and {new} "
            allow = _accepting(region, namespace, step.release, new)
            problems.append(
                rules.IMAGE_VERSION_STEP.at("spec", what=what, message=message, remedy=remedy, allow=allow)
            )
    return problems


def series_problems(
    status: Mapping[str, Any], desired: str, accepted: Mapping[str, str], region: str, namespace: str
) -> list[Problem]:
    """A version of OpenStack that is older than what runs of any service, as the region's status has it, or
    that does not follow it."""
    services = (status.get("services") or {}).values()
    running = [str(one.get("openstackVersion") or "") for one in (status, *services)]
    newest = max(filter(_SERIES.fullmatch, running), default="")
    if not newest or accepted.get(OPENSTACK) == desired:
        return []
    if desired > newest and not follows(newest, desired):
        allow = _accepting(region, namespace, OPENSTACK, desired)
        path = "spec.openstackVersion"
        return [rules.OPENSTACK_STEP_UNSUPPORTED.at(path, newest=newest, desired=desired, allow=allow)]
    if desired >= newest:
        return []
    remedy = f"name {newest}, or restore databases of that version first"
    allow = _accepting(region, namespace, OPENSTACK, desired)
    return [
        rules.OPENSTACK_DOWNGRADE.at(
            "spec.openstackVersion", newest=newest, desired=desired, remedy=remedy, allow=allow
        )
    ]


def follows(before: str, after: str) -> bool:
    """Whether OpenStack supports an upgrade between two releases: from each to the next, and between the
    first ones of two years, the SLURP releases (governance.openstack.org, release cadence adjustment)."""
    old, new = _SERIES.fullmatch(before), _SERIES.fullmatch(after)
    if old is None or new is None:
        return True  # nothing is known of such a name
    gap = 2 * (int(new[1]) - int(old[1])) + int(new[2]) - int(old[2])
    return gap == 1 or (gap == 2 and old[2] == "1")


def _obstacle(chart: str, before: Version, after: Version) -> tuple[str, str] | None:
    """Why data of one version cannot become that of another, and what can be done; None where it can."""
    if after == before:
        return None
    if after < before:
        return (
            "an older version cannot read this data",
            f"keep {version_text(before)}, or delete its data first",
        )
    if chart == DATABASE:
        if after[0] == before[0]:
            return None
        return "a new major version needs a confirmation", "make a backup first"
    if after in _followers(before):
        return None
    way = _way(before, after)
    between = f"go to {', then to '.join(map(version_text, (*way, after)))}, or " if way else ""
    return "the new version does not start with that data", f"{between}empty the broker first"


def _followers(version: Version) -> tuple[Version, ...]:
    """The versions that take the data of this one; of those that came later, the next of the same major."""
    return _STEPS.get(version, ((version[0], version[1] + 1),))


def _way(before: Version, after: Version) -> tuple[Version, ...]:
    """The versions in between on the shortest way; empty where none is known."""
    ways: deque[tuple[Version, tuple[Version, ...]]] = deque([(before, ())])
    while ways:
        at, way = ways.popleft()
        for following in reversed(_STEPS.get(at, ())):
            if following == after:
                return way
            ways.append((following, (*way, following)))
    return ()


def _accepting(region: str, namespace: str, name: str, version: str) -> str:
    annotation = f"{ACCEPT_VERSION_ANNOTATION}={name}={version}"
    return f"to proceed anyway: kubectl -n {namespace} annotate osdpl {region} {annotation}"


def version_text(version: Version) -> str:
    """As people write it: `4.2`."""
    return f"{version[0]}.{version[1]}"
