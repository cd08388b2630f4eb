"""Writes the status that one pass at a HelmBundle found, if it differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controller.domain.api.conditions import Condition, entries
from controller.domain.api.names import field_manager
from controller.domain.api.reasons import Reason
from controller.domain.api.shortened_text import shorten
from controller.domain.releases.bundle_object import Bundle
from controller.domain.releases.bundle_status import (
    ReleaseView,
    bundle_conditions,
    paused_condition,
    progress_text,
    release_entries,
    shortest_entries,
)
from controller.domain.releases.requests import suspended_by
from controller.errors import Forbidden, ObjectTooLarge, SpecInvalid
from controller.ports.kubernetes import HELMBUNDLE, Kube
from controller.ports.system import Clock
from controller.reconcile.shared.preconditioned_writes import apply_to_seen

MANAGER = field_manager("helmbundle")
# A status is for people.
DENIED_LIMIT = 1000


class BundleStatusWriter:
    """helmbundle's side of a HelmBundle object. Each write raises ObjectReplaced, KubeError."""

    def __init__(self, kube: Kube, clock: Clock) -> None:
        self._kube = kube
        self._clock = clock

    def write_invalid(self, obj: Mapping[str, Any], error: SpecInvalid, generation: int) -> None:
        """Reports what is wrong; the releases keep the entries they have, as nothing touches them."""
        text = str(error)
        desired = [
            Condition("Ready", "False", Reason.SPEC_INVALID, text, generation),
            Condition(
                "Stalled", "True", Reason.SPEC_INVALID, "edit the spec as condition Ready says", generation
            ),
            paused_condition((), generation, _paused(obj)),
        ]
        self._apply_status(obj, desired, list((obj.get("status") or {}).get("releases") or []), generation)

    def write_denied(self, obj: Mapping[str, Any], error: Forbidden, generation: int) -> None:
        """Reports that nothing can be found out of the releases, which keep the entries they have."""
        text = f"{error}; helm upgrade of the controller's chart grants the right"
        desired = [
            Condition("Ready", "False", Reason.RIGHT_MISSING, shorten(text, DENIED_LIMIT), generation),
            paused_condition((), generation, _paused(obj)),
        ]
        self._apply_status(obj, desired, list((obj.get("status") or {}).get("releases") or []), generation)

    def write(
        self,
        obj: Mapping[str, Any],
        bundle: Bundle,
        views: Sequence[ReleaseView],
        paused: str,
        plan: Mapping[str, Any] | None = None,
    ) -> None:
        """Reports the releases as they are. `paused` says by what the whole bundle is suspended, `plan`
        what would be done with mode Plan."""
        conditions = bundle_conditions(views, bundle.generation, deleting=bundle.deleting, paused=paused)
        self._apply_status(obj, conditions, release_entries(views), bundle.generation, plan)

    def write_halfway(
        self, obj: Mapping[str, Any], bundle: Bundle, views: Sequence[ReleaseView], paused: str
    ) -> None:
        """Reports what a pass found that was to begin something and did not, as its process ends.

        `views` has releases as they were, so all of it is said of the generation that was reported last:
        a newer one is the next run's to take up. A bundle that nothing was said of is left so.
        """
        status = obj.get("status") or {}
        seen = int(status.get("observedGeneration") or 0)
        if not seen:
            return
        conditions = bundle_conditions(views, seen, deleting=bundle.deleting, paused=paused)
        self._apply_status(obj, conditions, release_entries(views), seen, status.get("plan"))

    def _apply_status(
        self,
        obj: Mapping[str, Any],
        conditions: list[Condition],
        releases: list[dict[str, Any]],
        generation: int,
        plan: Mapping[str, Any] | None = None,
    ) -> None:
        before = obj.get("status") or {}
        status: dict[str, Any] = {
            "observedGeneration": generation,
            "progress": progress_text(obj, releases),
            "conditions": entries(conditions, before.get("conditions") or [], self._clock.now()),
            "releases": releases,
        }
        if plan is not None:
            status["plan"] = dict(plan)
        known = {key: before.get(key) for key in status}
        # The API server keeps conditions in the order in which it came to know them.
        known["conditions"] = sorted(known["conditions"] or [], key=lambda one: str(one["type"]))
        if known == status and ("plan" in before) == ("plan" in status):
            return
        try:
            apply_to_seen(self._kube, HELMBUNDLE, obj, manager=MANAGER, status=status)
        except ObjectTooLarge:
            # The spec leaves hardly any room: what the status says first is still to be read.
            lean = {key: value for key, value in status.items() if key != "plan"}
            lean["releases"] = shortest_entries(releases)
            apply_to_seen(self._kube, HELMBUNDLE, obj, manager=MANAGER, status=lean)


def _paused(obj: Mapping[str, Any]) -> str:
    """What suspends a bundle whose spec cannot be read as a whole."""
    spec = obj.get("spec")
    mode = str(spec.get("mode") or "") if isinstance(spec, Mapping) else ""
    return suspended_by(mode, obj["metadata"].get("annotations") or {})
