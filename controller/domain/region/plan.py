"""core's level of a plan: what a region is to become, gathered from its bundles. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controller.domain.api.conditions import Condition
from controller.domain.api.reasons import Reason
from controller.domain.api.shortened_text import shorten
from controller.domain.region.plan_approval import Approval
from controller.domain.releases.bundle import ReleaseSpec
from controller.domain.releases.digests import fingerprint
from controller.domain.releases.plan import PlanAction, bounded, plan_sentence
from controller.domain.releases.release_settings import VOLUMES, SettingChange, release_changes
from controller.domain.values.chart_values import format_path
from controller.domain.values.layer import Layer
from controller.domain.values.merge import MergedValues, merge_layers
from controller.domain.values.value_provenance import ValueHistory
from controller.domain.values.values_diff import ValueChange, diff_values, value_text
from controller.errors import SpecInvalid

CONDITION = "Planned"
MOST_VALUE = 4096
MOST_WARNINGS = 50
MOST_SETTINGS, MOST_SETTING = 64, 512


@dataclass(frozen=True)
class RegionPlan:
    """What would be done to a region. `entries` are those of `status.plan.releases`, already cut.

    `settings` are fields of the spec that change. `digest` is empty where there is nothing to do, and where
    it is not known: `waits_for` names bundles whose part is missing, `problem` says why the plan would fail.
    """

    entries: tuple[Mapping[str, Any], ...] = ()
    settings: tuple[SettingChange, ...] = ()
    digest: str = ""
    sentence: str = ""
    warnings: tuple[str, ...] = ()
    waits_for: tuple[str, ...] = ()
    problem: str = ""

    @property
    def empty(self) -> bool:
        """Whether it is known that nothing would be done."""
        return not (self.entries or self.settings or self.waits_for or self.problem)

    def status(self, generation: int, approval: Approval | None) -> dict[str, Any]:
        """`status.plan` of the osdpl."""
        plan = {
            "observedGeneration": generation,
            "digest": self.digest,
            "message": self.sentence,
            "warnings": [shorten(text, 1000) for text in self.warnings[:MOST_WARNINGS]],
            "settings": [_setting(one) for one in self.settings[:MOST_SETTINGS]],
            "releases": [dict(entry) for entry in self.entries],
            "accepted": approval.entry() if approval else None,
        }
        return {key: value for key, value in plan.items() if value not in (None, "", [])}


@dataclass(frozen=True)
class DesiredRelease:
    """One release as the region asks for it, and as its bundle has it now (None: it has not)."""

    service: str
    spec: ReleaseSpec
    merged: MergedValues
    volumes: str
    current: ReleaseSpec | None = None
    current_volumes: str = ""


@dataclass(frozen=True)
class PlanParts:
    """What a region's plan is made of: the bundles as read, and the desired releases by name.

    `services` and `asked` are by bundle: its service, and the digest of what is asked for of it (none for
    a bundle that is to go). `settings` are fields of the spec that change.
    """

    bundles: Sequence[Mapping[str, Any]]
    desired: Mapping[str, DesiredRelease]
    warnings: tuple[str, ...] = ()
    services: Mapping[str, str] = field(default_factory=dict)
    asked: Mapping[str, str] = field(default_factory=dict)
    settings: tuple[SettingChange, ...] = ()


def gather_plan(parts: PlanParts) -> RegionPlan:
    """Puts together what every bundle would do with what core knows of its values."""
    known = [bundle for bundle in parts.bundles if _planned(bundle, parts.asked.get(_name(bundle), ""))]
    names = {_name(bundle) for bundle in known}
    there = {_name(bundle) for bundle in parts.bundles}
    waiting = tuple(sorted((there | parts.asked.keys()) - names))
    digests: dict[str, str] = {}
    entries: list[dict[str, Any]] = []
    for bundle in sorted(known, key=_name):
        plan = (bundle.get("status") or {}).get("plan") or {}
        if plan.get("digest"):
            digests[_name(bundle)] = str(plan["digest"])
        if not waiting:
            found = [_with_changes(entry, parts.desired) for entry in plan.get("releases") or []]
            entries += [{**entry, "service": parts.services.get(_name(bundle), "")} for entry in found]
    if waiting:
        return RegionPlan(warnings=parts.warnings, waits_for=waiting, sentence="not known yet")
    touched = {entry["name"] for entry in entries}
    entries += list(_settings_entries(parts.desired, touched))
    problems = [f"{entry['name']}: {entry['problem']}" for entry in entries if entry.get("problem")]
    sentence = plan_sentence(entries, len(parts.settings))
    digest = ""
    if (entries or parts.settings) and not problems:
        changes = {entry["name"]: entry.get("changes") or [] for entry in entries}
        fields = [[one.path, value_text(one.before), value_text(one.after)] for one in parts.settings]
        whole = {"bundles": digests, "changes": changes, **({"settings": fields} if fields else {})}
        digest = fingerprint(whole)
    return RegionPlan(
        entries=tuple(bounded(entries)),
        settings=parts.settings,
        digest=digest,
        sentence=sentence,
        warnings=parts.warnings,
        problem="; ".join(problems),
    )


def _setting(one: SettingChange) -> dict[str, str]:
    before, after = value_text(one.before, MOST_SETTING), value_text(one.after, MOST_SETTING)
    found = {"path": one.path[:2048], "before": before, "after": after, "does": shorten(one.does, 1000)}
    return {key: value for key, value in found.items() if value}


def _name(bundle: Mapping[str, Any]) -> str:
    return str(bundle["metadata"]["name"])


def _planned(bundle: Mapping[str, Any], asked: str) -> bool:
    """Whether the bundle's plan is of its present spec, and of the charts that core knows."""
    plan = (bundle.get("status") or {}).get("plan") or {}
    current = plan.get("observedGeneration") == bundle["metadata"].get("generation")
    return current and asked in ("", plan.get("desired"))


def _with_changes(entry: Mapping[str, Any], desired_releases: Mapping[str, DesiredRelease]) -> dict[str, Any]:
    """The entry with the values that change, for a release that both was and is to be."""
    desired = desired_releases.get(str(entry.get("name")))
    found = dict(entry)
    if desired is None or desired.current is None or entry.get("action") != PlanAction.UPGRADE:
        return found
    changes = [*_settings(desired), *_values(desired.current, desired.merged)]
    if changes:
        found["changes"] = changes
    elif desired.current.chart == desired.spec.chart:
        text = "the values are the same, but the chart, or a Secret in the values, has changed"
        found["message"] = "; ".join(part for part in (str(entry.get("message") or ""), text) if part)
    return found


def _settings_entries(
    desired_releases: Mapping[str, DesiredRelease], touched: Iterable[str]
) -> Iterable[dict[str, Any]]:
    done = set(touched)
    for name, desired in desired_releases.items():
        changes = _settings(desired) if name not in done else []
        if changes:
            yield {
                "name": name,
                "service": desired.service,
                "action": str(PlanAction.SETTINGS),
                "changes": changes,
            }


def _settings(desired: DesiredRelease) -> list[dict[str, Any]]:
    """Changes of how a release is kept, which Helm does not see."""
    if desired.current is None:
        return []
    found = release_changes(desired.current, desired.spec)
    if desired.current_volumes != desired.volumes:
        found += (SettingChange(VOLUMES, desired.current_volumes, desired.volumes),)
    return [
        {
            "path": one.path,
            "before": value_text(one.before, MOST_VALUE),
            "after": value_text(one.after, MOST_VALUE),
        }
        for one in found
    ]


def _values(current: ReleaseSpec, merged: MergedValues) -> list[dict[str, Any]]:
    """The values that change, secrets by their references, each with who sets it."""
    try:
        before = merge_layers(merged.defaults, [Layer("applied", current.values)])
    except SpecInvalid:
        # The chart's defaults are of another shape now: only what was sent can be compared.
        before = MergedValues({}, dict(current.values), ValueHistory())
        merged = MergedValues({}, merged.overlay, merged.history)
    return [_change(change, merged) for change in diff_values(before, merged)]


def _change(change: ValueChange, merged: MergedValues) -> dict[str, Any]:
    layers = merged.history.chain(change.path)
    found = {
        "path": format_path(change.path)[:2048],
        "before": value_text(change.before, MOST_VALUE),
        "after": value_text(change.after, MOST_VALUE),
        "layer": change.layer_after,
        "setBy": layers[-1].path[:2048] if layers else "",
    }
    return {key: value for key, value in found.items() if value}


def planned_condition(
    plan: RegionPlan | None, approval: Approval | None, approved: str, *, name: str, generation: int
) -> Condition:
    """`Planned`: True when `status.plan` shows all that would be done. `plan` None: the mode is not Plan.

    `approval` is one that is being carried out or was the last; `approved` is `spec.approvedPlan`.
    """

    def planned(status: bool, reason: Reason, message: str) -> Condition:
        text = shorten(message, 4000)
        return Condition(CONDITION, "True" if status else "False", reason, text, generation)

    if plan is None:
        return planned(False, Reason.NOT_PLANNED, "")
    if plan.waits_for:
        return planned(False, Reason.PLANNING, f"helmbundle plans {', '.join(plan.waits_for)}")
    if plan.problem:
        return planned(False, Reason.PLAN_FAILED, f"the plan would fail: {plan.problem}")
    if approval is not None and not approval.done:
        return planned(True, Reason.PLAN_APPROVED, f"{approval.digest} is being applied")
    if plan.empty:
        return planned(True, Reason.PLAN_EMPTY, "the region matches its spec: nothing to do")
    what = f"plan {plan.digest} {plan.sentence}"
    if approved and not (approval is not None and approval.digest == approved):
        text = f"spec.approvedPlan names another plan, so nothing is applied; now {what}"
        return planned(True, Reason.PLAN_DIFFERS, text)
    return planned(True, Reason.PLAN_PENDING, f"{what}; the plan waits for approval: osctl approve {name}")
