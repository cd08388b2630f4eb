"""Plans: what would be done to the releases of a bundle and of a region, and the digest to approve. Pure.

A plan has two levels. helmbundle tells of each release which objects change, which pods restart, which
Jobs and hooks run (`ReleaseEffects`); core adds which values change and who sets them, and sums up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controller.domain.api.shortened_text import shorten
from controller.domain.releases.digests import fingerprint

# A status is for people, and shares an object of 1.5 MB with everything else.
MOST_OCTETS = 120_000
_LISTS = ("changes", "objects", "restarts", "jobs", "hooks")
_LENGTHS = (256, 64, 16, 4, 0)
_TEXTS = (2000, 500, 200, 100, 100)
# Charts name the image of a Job that migrates so. That of ovn compares two databases, and migrates none.
_MIGRATION = re.compile(r"images\.tags\.(?!neutron_ovn_)\w*db_sync")


class PlanAction(StrEnum):
    """What would be done to one release."""

    INSTALL = "Install"
    UPGRADE = "Upgrade"
    UNINSTALL = "Uninstall"
    TAKE_OVER = "TakeOver"
    """Nothing in the cluster: others have installed the release, and it runs as its spec asks for."""
    SETTINGS = "Settings"
    """Nothing in the cluster: only settings of the release change (timeout, drift, dependencies)."""


@dataclass(frozen=True)
class ReleaseEffects:
    """What one action would do to the cluster.

    `desired` is the digest of chart content and values (secrets as references) that would be applied;
    `before` and `after` the keyed digests of what runs and of what would, empty where nothing runs.
    `objects` are `create|change|replace|delete|keep Kind/name`, `restarts` workloads whose pods are replaced,
    `pods` how many those are now, `jobs` Jobs that are replaced and run again, `hooks` those that Helm runs.
    `octets` is the size of the release's record, 0 while unknown. `notes` deserve attention, `problem`
    says why the action would fail. Texts hold no secret.
    """

    name: str
    action: PlanAction
    desired: str = ""
    before: str = ""
    after: str = ""
    chart: str = ""
    objects: tuple[str, ...] = ()
    restarts: tuple[str, ...] = ()
    pods: int = 0
    jobs: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    octets: int = 0
    notes: tuple[str, ...] = ()
    problem: str = ""

    def entry(self) -> dict[str, Any]:
        """The entry of `status.plan.releases` of a HelmBundle, not yet cut."""
        found = {
            "name": self.name,
            "action": str(self.action),
            "chart": self.chart,
            "objects": list(self.objects),
            "restarts": list(self.restarts),
            "pods": self.pods,
            "jobs": list(self.jobs),
            "hooks": list(self.hooks),
            "bytes": self.octets,
            "message": "; ".join(self.notes),
            "problem": self.problem,
        }
        return {key: value for key, value in found.items() if value not in ("", [], 0)}

    def substance(self) -> list[Any]:
        """What the digest covers: what would be done, not how many pods that are or how large it is."""
        states = [self.desired, self.before, self.after, self.chart]
        return [self.name, self.action, states, self.objects, self.restarts, self.jobs, self.hooks]


def desired_of(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What a bundle's spec asks for beside its mode, as its object has it: of `spec`, or of `planned`."""
    return {"volumes": spec.get("volumes") or "Retain", "releases": spec.get("releases") or []}


def desired_digest(desired: Mapping[str, Any], charts: Sequence[str]) -> str:
    """Digest of what is asked for: releases with their values, and the content digests of their charts."""
    return fingerprint({"desired": _stored(desired), "charts": list(charts)})


def _stored(value: Any) -> Any:
    """As the API server gives it back: a whole number loses its fraction."""
    if isinstance(value, Mapping):
        return {key: _stored(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_stored(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def bundle_plan(effects: Sequence[ReleaseEffects], generation: int, desired: str) -> dict[str, Any]:
    """`status.plan` of a HelmBundle. The digest covers also what is cut to keep the status small."""
    plan: dict[str, Any] = {"observedGeneration": generation, "desired": desired}
    if effects:
        plan["digest"] = fingerprint({"releases": [one.substance() for one in effects]})
        plan["releases"] = bounded([one.entry() for one in effects])
    return plan


def bounded(entries: Sequence[Mapping[str, Any]], most: int = MOST_OCTETS) -> list[dict[str, Any]]:
    """The entries with their lists cut, all to the same length, until they take no more than `most` octets.

    `omitted` counts what each list has lost, together with what it had lost before.
    """
    cut: list[dict[str, Any]] = []
    for length, text in zip(_LENGTHS, _TEXTS, strict=True):
        cut = [_cut(entry, length, text) for entry in entries]
        if _octets(cut) <= most:
            return cut
    return cut


def _cut(entry: Mapping[str, Any], length: int, text: int) -> dict[str, Any]:
    result = dict(entry)
    omitted = dict(entry.get("omitted") or {})
    for key in _LISTS:
        items = entry.get(key) or []
        if len(items) > length:
            result[key] = items[:length]
            omitted[key] = int(omitted.get(key, 0)) + len(items) - length
    if result.get("changes"):
        result["changes"] = [_cut_change(change, text) for change in result["changes"]]
    for key in ("message", "problem"):
        if key in result:
            result[key] = shorten(str(result[key]), text)
    if omitted:
        result["omitted"] = omitted
    return {key: value for key, value in result.items() if value != []}


def _cut_change(change: Mapping[str, Any], text: int) -> dict[str, Any]:
    return {key: shorten(str(value), text) for key, value in change.items()}


def _octets(value: Any) -> int:
    """About what the value takes as JSON, which is what the API server keeps."""
    if isinstance(value, Mapping):
        return sum(len(key) + 4 + _octets(item) for key, item in value.items()) + 2
    if isinstance(value, list):
        return sum(_octets(item) + 1 for item in value) + 2
    return len(str(value).encode()) + 2


def plan_sentence(entries: Iterable[Mapping[str, Any]], fields: int = 0) -> str:
    """`installs 2 releases, upgrades 1 release, restarts 15 pods, loses no data`; for no entry: nothing.
    `fields`: how many fields of the spec change."""
    entries = list(entries)
    if not (entries or fields):
        return "nothing to do"
    actions = [str(entry.get("action")) for entry in entries]
    words = (
        (PlanAction.INSTALL, "installs"),
        (PlanAction.TAKE_OVER, "takes over"),
        (PlanAction.UPGRADE, "upgrades"),
        (PlanAction.UNINSTALL, "uninstalls"),
    )
    parts = [
        f"{verb} {_count(actions.count(action), 'release')}" for action, verb in words if action in actions
    ]
    if PlanAction.SETTINGS in actions:
        number = actions.count(PlanAction.SETTINGS)
        parts.append(f"changes settings of {_count(number, 'release')}")
    parts += [f"changes {_count(fields, 'field')} of the spec"] if fields else []
    pods = sum(int(entry.get("pods") or 0) for entry in entries)
    if pods:
        parts.append(f"restarts {_count(pods, 'pod')}")
    lost = [name for entry in entries for name in lost_claims(entry)]
    kept = [text for entry in entries for text in entry.get("objects") or [] if text.startswith("keep ")]
    parts += (
        [f"keeps the data in {_count(len(kept), 'volume')} that no release uses any more"] if kept else []
    )
    migrated = sum(_migrates(entry) for entry in entries)
    if lost:
        parts.append(f"DELETES THE DATA in {_count(len(lost), 'volume')}")
    if migrated:
        parts.append(f"migrates the data of {_count(migrated, 'release')}, which cannot go back")
    if not (lost or migrated):
        parts.append("loses no data")
    return ", ".join(parts)


def migrates(changed: Iterable[str]) -> bool:
    """Whether one of these changed values is the image of a Job that migrates a database."""
    return any(_MIGRATION.fullmatch(path) for path in changed)


def _migrates(entry: Mapping[str, Any]) -> bool:
    return migrates(str(change["path"]) for change in entry.get("changes") or ())


def lost_claims(entry: Mapping[str, Any]) -> list[str]:
    """The claims that the entry's release takes along."""
    prefix = "delete PersistentVolumeClaim/"
    return [text.removeprefix(prefix) for text in entry.get("objects") or [] if text.startswith(prefix)]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
