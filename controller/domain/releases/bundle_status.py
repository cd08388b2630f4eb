"""What a HelmBundle's status says of its releases, and what the region's status says of bundles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.domain.api.conditions import Condition
from controller.domain.api.reasons import Reason
from controller.domain.api.shortened_text import shorten
from controller.domain.releases.attempt import Attempt
from controller.domain.releases.reported_state import ReportedState
from controller.domain.releases.sizes.release_size import nearly_too_large
from controller.domain.shared.plurals import count

# Characters that the messages and errors of all releases of a bundle share.
MOST_TEXT = 300_000
_SHORTEST = 100
# Claims that the status of one release names.
MOST_KEPT = 32


@dataclass(frozen=True)
class ReleaseView:
    """One release as its bundle's status shows it.

    The entries of `hooks` and `drift` are as they are written. `octets` is the size of the revision's record,
    0 while unknown. `kept` are claims that the release had
    and has no longer.
    """

    name: str
    namespace: str
    state: ReportedState
    reason: Reason
    message: str = ""
    revision: int = 0
    chart_version: str = ""
    digest: str = ""
    last_attempt: Attempt | None = None
    octets: int = 0
    hooks: Sequence[Mapping[str, Any]] = ()
    drift: Sequence[Mapping[str, Any]] = ()
    kept: Sequence[str] = ()

    def entry(self) -> dict[str, Any]:
        """The entry of `status.releases`; what is not known is left out."""
        attempt = self.last_attempt
        entry = {
            "name": self.name,
            "namespace": self.namespace,
            "state": str(self.state),
            "reason": str(self.reason),
            "message": shorten(self.message, 1000),
            "revision": self.revision or None,
            "chartVersion": self.chart_version or None,
            "valuesDigest": self.digest or None,
            "bytes": self.octets or None,
            "unlocks": attempt.unlocks or None if attempt else None,
            "lastAttempt": attempt.entry() if attempt else None,
            "hooks": [dict(hook) for hook in self.hooks] or None,
            "drift": [dict(one) for one in self.drift] or None,
            "kept": list(self.kept[:MOST_KEPT]) or None,
        }
        return {key: value for key, value in entry.items() if value not in (None, "")}


def release_entries(views: Sequence[ReleaseView]) -> list[dict[str, Any]]:
    """The entries of `status.releases`. The more there are, the shorter are their texts: all of them and
    the spec share the 1.5 MB that Kubernetes stores of an object."""
    limit = min(1000, max(100, MOST_TEXT // (2 * max(len(views), 1))))
    entries = [view.entry() for view in views]
    for entry in entries:
        entry.update({key: shorten(entry[key], limit) for key in ("message",) if key in entry})
        attempt = entry.get("lastAttempt") or {}
        if "error" in attempt:
            entry["lastAttempt"] = {**attempt, "error": shorten(str(attempt["error"]), limit)}
    return entries


def shortest_entries(releases: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The same entries with no more than the state of each release, where there is no room for the rest."""
    lean = [{key: one[key] for key in one if key not in ("hooks", "drift", "kept")} for one in releases]
    for entry in lean:
        entry.update({key: shorten(str(entry[key]), _SHORTEST) for key in ("message",) if key in entry})
        attempt = entry.get("lastAttempt") or {}
        if "error" in attempt:
            entry["lastAttempt"] = {**attempt, "error": shorten(str(attempt["error"]), _SHORTEST)}
    return lean


def bundle_conditions(
    views: Sequence[ReleaseView], generation: int, *, deleting: bool, paused: str = ""
) -> list[Condition]:
    """Ready, Reconciling and Paused of a bundle from its releases. `paused` says by what all of it is."""
    failed = [view for view in views if view.state == ReportedState.FAILED]
    open_ = [view for view in views if view.state != ReportedState.DEPLOYED]
    working = [view for view in open_ if view.state not in (ReportedState.FAILED, ReportedState.SUSPENDED)]
    if failed:
        # Also for a removed bundle, because a failed uninstall also needs an operator.
        ready = Condition("Ready", "False", Reason.RELEASES_FAILING, _listing(failed), generation)
    elif deleting:
        ready = Condition("Ready", "False", Reason.DELETING, _listing(views), generation)
    elif open_:
        reason = Reason.RELEASES_PENDING if working else Reason.SUSPENDED
        ready = Condition("Ready", "False", reason, _listing(open_), generation)
    else:
        large = [f"{view.name}: {text}" for view in views if (text := nearly_too_large(view.octets))]
        unsure = [
            f"{view.name} is {view.message}"
            for view in views
            if view.reason == Reason.IN_SYNC and view.message
        ]
        text = "; ".join([f"{count(len(views), 'release')} deployed", *large, *unsure[:3]])
        ready = Condition("Ready", "True", Reason.RELEASES_DEPLOYED, text, generation)
    retried = [view for view in failed if view.reason != Reason.SUSPENDED]
    busy = bool(working or retried) or deleting
    # A failing release is always retried, so it never stalls the bundle: Stalled would make kstatus clients
    # give up.
    reconciling = Condition(
        "Reconciling",
        "True" if busy else "False",
        Reason.DELETING if deleting else Reason.APPLYING,
        _listing(working or retried),
        generation,
    )
    return [ready, reconciling, paused_condition(views, generation, paused)]


def paused_condition(views: Sequence[ReleaseView], generation: int, paused: str) -> Condition:
    """Paused of a bundle: `paused` says by what all of it is suspended, empty when nothing does."""
    if paused:
        text = f"nothing is changed: suspended by {paused}"
        return Condition("Paused", "True", Reason.SUSPENDED, text, generation)
    alone = [view.name for view in views if view.reason == Reason.SUSPENDED]
    text = f"suspended individually: {', '.join(alone)}" if alone else ""
    return Condition("Paused", "False", Reason.NOT_PAUSED, text, generation)


def _listing(views: Iterable[ReleaseView], limit: int = 5) -> str:
    """`keystone Waiting (waits for mariadb …)`, a few of them."""
    shown = list(views)
    parts = [
        f"{view.name} {view.state}{f' ({view.message})' if view.message else ''}" for view in shown[:limit]
    ]
    more = len(shown) - limit
    return "; ".join(parts) + (f"; and {more} more" if more > 0 else "")


def progress_text(bundle: Mapping[str, Any], releases: Iterable[Mapping[str, Any]]) -> str:
    """`2/3`: releases deployed of those that the bundle's spec asks for."""
    desired = {str(item.get("name")) for item in (bundle.get("spec") or {}).get("releases") or []}
    done = [item for item in releases if item.get("state") == ReportedState.DEPLOYED]
    return f"{sum(item.get('name') in desired for item in done)}/{len(desired)}"


def child_entry(bundle: Mapping[str, Any]) -> dict[str, Any]:
    """A bundle's entry in `status.children` of its osdpl."""
    status = bundle.get("status") or {}
    ready: Mapping[str, Any] = next(
        (c for c in status.get("conditions") or [] if c.get("type") == "Ready"), {}
    )
    current = status.get("observedGeneration") == bundle["metadata"].get("generation")
    entry = {
        "deployed": current and ready.get("status") == "True",
        "releases": progress_text(bundle, status.get("releases") or []),
        "reason": ready.get("reason") if current else str(Reason.APPLYING),
        "message": shorten(str(ready.get("message") or ""), 1000) if current else "",
    }
    return {key: value for key, value in entry.items() if value not in (None, "")}


def _is_idle(child: Mapping[str, Any]) -> bool:
    """Whether nothing is asked for of a bundle, and nothing of it is left: its releases are only planned."""
    settled = child.get("deployed") or child.get("reason") == Reason.APPLYING
    return bool(child.get("releases") == "0/0" and settled)


def releases_condition(children: Mapping[str, Mapping[str, Any]], generation: int) -> Condition:
    """`ReleasesReady` of the osdpl from its children; those without releases do not count."""
    asked = {name: child for name, child in children.items() if not _is_idle(child)}
    open_ = {name: child for name, child in asked.items() if not child.get("deployed")}
    if not asked:
        text = "no release is requested yet, because the spec is only planned"
        text = text if children else "no bundle yet"
        return Condition("ReleasesReady", "Unknown", Reason.INITIALIZING, text, generation)
    if not open_:
        text = f"{count(len(asked), 'bundle')} deployed"
        return Condition("ReleasesReady", "True", Reason.RELEASES_DEPLOYED, text, generation)
    failing = {n: c for n, c in open_.items() if c.get("reason") == Reason.RELEASES_FAILING}
    shown = failing or open_
    text = "; ".join(
        f"{name}: {child.get('message') or child.get('reason')}" for name, child in sorted(shown.items())
    )
    reason = Reason.RELEASES_FAILING if failing else Reason.RELEASES_PENDING
    return Condition("ReleasesReady", "False", reason, shorten(text, 4000), generation)
