"""Values of a spec that hold only together: backups and their age, windows and their intervals. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controller.domain.api.spec_rules import effects as rules
from controller.domain.shared.cron_schedule import longest_gap
from controller.domain.shared.durations import format_duration
from controller.domain.values.chart_values import format_path, lookup
from controller.errors import Problem

_DAY = 86400
# Where Keystone takes names from by default (keystone.conf, [ldap]), and what most directories use.
_NAMES = {"user": ("sn", "uid or sAMAccountName"), "group": ("ou", "cn")}
_WEEK = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def broken_pairs(
    document: Mapping[str, Any], features: Mapping[str, Any], namespace: str
) -> Iterator[Problem]:
    """A warning for each. `document` is the spec as it is written, `features` with all defaults, of a region
    in this namespace."""
    yield from _trees(features["identity"]["ldap"]["domains"])
    yield from _windows(features["credentialRotation"])
    database = features["database"]
    yield from _dumps(database["backup"])
    for name, image in (lookup(document, ("images", "overrides")) or {}).items():
        if not set(":@") & set(str(image).rpartition("/")[2]):
            yield rules.IMAGE_WITHOUT_TAG.at(format_path(("spec", "images", "overrides", name)))
    policies = features["networkPolicies"]
    if database["exporter"]["enabled"] and policies["enabled"] and not policies["monitoring"]:
        yield rules.EXPORTER_BEHIND_POLICIES.at("spec.features.database.exporter")
    for index, text in enumerate(features["readOnlyAccount"]["offeredTo"]):
        if text.partition("/")[0] == namespace:
            path = ("spec", "features", "readOnlyAccount", "offeredTo", index)
            yield rules.OFFERED_TO_ITSELF.at(format_path(path), namespace=namespace)


def _dumps(backup: Mapping[str, Any]) -> Iterator[Problem]:
    """Dumps that are kept for less than the time between two of them."""
    gap = longest_gap(backup["schedule"]) if backup["enabled"] else 0
    if gap and backup["keepDays"] * _DAY < gap:
        path = "spec.features.database.backup.keepDays"
        yield rules.DUMPS_GO_EARLY.at(path, days=backup["keepDays"], gap=format_duration(gap))


def _trees(domains: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """What makes Keystone find no entries: subtrees that are none of the whole, names by attributes of few
    directories, and filters that are none."""
    for index, domain in enumerate(domains):
        suffix = _parts(domain["suffix"])
        for field in ("userTreeDN", "groupTreeDN"):
            given = _parts(domain[field] or domain["suffix"])
            if given[-len(suffix) :] != suffix:
                path = ("spec", "features", "identity", "ldap", "domains", index, field)
                yield rules.TREE_OUTSIDE_SUFFIX.at(format_path(path), suffix=domain["suffix"])
        conf, where = domain["conf"] or {}, ("spec", "features", "identity", "ldap", "domains", index, "conf")
        for entry, (default, example) in _NAMES.items():
            if (option := f"{entry}_name_attribute") not in conf:
                yield rules.DIRECTORY_NAMES_BY_DEFAULT.at(
                    format_path(where), option=option, entry=entry, default=default, example=example
                )
        for name, text in conf.items():
            if name.endswith("_filter") and isinstance(text, str) and text and not _is_filter(text):
                yield rules.FILTER_MALFORMED.at(format_path((*where, name)))


def _is_filter(text: str) -> bool:
    """Whether each parenthesis of a filter is closed, the outer one at its end (RFC 4515)."""
    depth = 0
    for place, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth <= 0 and place < len(text) - 1:
            return False
    return depth == 0


def _windows(rotation: Mapping[str, Any] | None) -> Iterator[Problem]:
    """A window that opens less often than credentials are to be new."""
    days = sorted(_WEEK.index(day) for day in ((rotation or {}).get("window") or {}).get("days") or ())
    if rotation is None or not rotation["every"] or not days:
        return
    every = int(str(rotation["every"]).removesuffix("d"))
    gap = max((later - day) % 7 or 7 for day, later in zip(days, [*days[1:], days[0]], strict=True))
    if every < gap:
        path = "spec.features.credentialRotation.every"
        yield rules.WINDOW_TOO_RARE.at(path, every=rotation["every"], gap=gap)


def _parts(name: str) -> list[str]:
    """The parts of a distinguished name, as directories compare them."""
    pairs = (part.partition("=") for part in name.lower().split(","))
    return [f"{key.strip()}={value.strip()}" for key, _, value in pairs]
