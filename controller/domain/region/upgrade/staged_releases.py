"""What the releases of a service are while not all steps of its upgrade have begun. Pure.

The tags of images are values, one for each component. A step therefore needs no other chart: before a step
begins, its charts stay as they are, and a chart that several steps upgrade keeps the tags of later ones.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence, Set
from typing import Any

from controller.domain.region.upgrade.broker_version_hops import hop_release
from controller.domain.region.upgrade.upgrade_steps import UpgradeStep

# Both chart sources read the strategy of all DaemonSets of a chart there.
_STRATEGY = ("pod", "lifecycle", "upgrades", "daemonsets", "pod_replacement_strategy")
_MISSING = object()


def staged_spec(
    desired: Mapping[str, Any],
    current: Mapping[str, Any] | None,
    steps: Sequence[UpgradeStep],
    begun: Set[str],
) -> dict[str, Any] | None:
    """The spec of a HelmBundle of which the steps `begun` have begun.

    `desired` is its spec of the target, `current` the one that it has, or None; `steps` are those of its
    service in their order. None if nothing of it may be there yet.
    """
    if all(step.name in begun for step in steps) and not any(step.about.by_node for step in steps):
        return dict(desired)
    there = {str(one["name"]): one for one in (current or {}).get("releases") or ()}
    releases = []
    for release in desired.get("releases") or ():
        name = str(release["name"])
        staged = _staged_release(release, there.pop(name, None), steps, begun)
        if staged is not None:
            releases.append(staged)
    # What leaves the service leaves with its last step.
    if not all(step.name in begun for step in steps):
        releases += there.values()
    if not releases:
        return None
    return {**desired, "releases": releases}


def _staged_release(
    desired: Mapping[str, Any],
    current: Mapping[str, Any] | None,
    steps: Sequence[UpgradeStep],
    begun: Set[str],
) -> Mapping[str, Any] | None:
    chart = str((desired.get("chart") or {}).get("name"))
    own = [step for step in steps if chart in step.about.charts] or list(steps[:1])
    if own[0].name not in begun:
        return current
    if current is None:
        return desired
    hops, own = [step for step in own if step.version], [step for step in own if not step.version]
    if own[0].name not in begun:
        return hop_release(current, [hop for hop in hops if hop.name in begun][-1])
    values = copy.deepcopy(dict(desired.get("values") or {}))
    for step in own[1:]:
        if step.name not in begun:
            for tag in step.about.tags.get(chart, ()):
                _keep(values, current.get("values") or {}, ("images", "tags", tag))
    if any(step.about.by_node for step in own):
        # Its pods are replaced node by node, by hand of the controller.
        _put(values, _STRATEGY, "OnDelete")
    return {**desired, "values": values}


def _keep(values: dict[str, Any], before: Mapping[str, Any], path: Sequence[str]) -> None:
    """Gives `values` what `before` has at this path, also nothing."""
    old = _get(before, path)
    if old is _MISSING:
        parent = _get(values, path[:-1])
        if isinstance(parent, dict):
            parent.pop(path[-1], None)
        return
    _put(values, path, old)


def _get(values: Mapping[str, Any], path: Sequence[str]) -> Any:
    found: Any = values
    for key in path:
        if not isinstance(found, Mapping) or key not in found:
            return _MISSING
        found = found[key]
    return found


def _put(values: dict[str, Any], path: Sequence[str], value: Any) -> None:
    at = values
    for key in path[:-1]:
        inner = at.get(key)
        if not isinstance(inner, dict):
            inner = at[key] = {}
        at = inner
    at[path[-1]] = value
