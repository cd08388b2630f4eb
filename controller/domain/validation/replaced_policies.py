"""Network policies of the operator's that cut off what the region needs: a list replaces another. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from controller.domain.api.spec_rules.values import NETWORK_POLICY_CLOSES, NETWORK_POLICY_REPLACED
from controller.domain.values.chart_values import Path, lookup
from controller.domain.values.merge import MergedValues
from controller.domain.values.value_provenance import Setting
from controller.errors import Problem

_NAMESPACE = "kubernetes.io/metadata.name"
_APPLICATION = "application"
_MOST_NAMED = 3


def replaced_rules(merged: MergedValues, namespace: str) -> Iterator[Problem]:
    """One for each list of the operator's that admits less than the list of ours that it replaces.

    `merged` are the final values of a release in the region's `namespace`."""
    for name, setting, ours in _operators_lists(merged):
        peers = list(_peers(ours.value)) if ours is not None else []
        lacking = [_words(peer) for peer in peers if not _admits(setting.value, peer, namespace)]
        if lacking:
            more = f" and {len(lacking) - _MOST_NAMED} more" if len(lacking) > _MOST_NAMED else ""
            who = f"{', '.join(lacking[:_MOST_NAMED])}{more}"
            yield NETWORK_POLICY_REPLACED.at(setting.path, source=setting.place, who=who, name=name)


def closed_rules(merged: MergedValues, namespace: str, applications: Iterable[str]) -> Iterator[Problem]:
    """One for each list of the operator's that admits no pod of the region, where the chart admits all.

    `applications` are the releases of the region."""
    peers = [_of_application(one) for one in applications]
    for name, setting, ours in _operators_lists(merged):
        if ours is None and not any(_admits(setting.value, peer, namespace) for peer in peers):
            yield NETWORK_POLICY_CLOSES.at(setting.path, source=setting.place, name=name)


def _operators_lists(merged: MergedValues) -> Iterator[tuple[str, Setting, Setting | None]]:
    """The lists of incoming traffic that the operator has written, and the one of ours below each."""
    if not lookup(merged.values, ("manifests", "network_policy")):
        return
    for name in lookup(merged.values, ("network_policy",)) or {}:
        path: Path = ("network_policy", name, "ingress")
        settings = [one for one in merged.history.chain(path) if isinstance(one.value, list)]
        if settings and settings[-1].path.startswith("spec."):
            ours = [one for one in settings if not one.path.startswith("spec.")]
            yield name, settings[-1], ours[-1] if ours else None


def _of_application(name: str) -> dict[str, Any]:
    expression = {"key": _APPLICATION, "operator": "In", "values": [name]}
    return {"podSelector": {"matchExpressions": [expression]}}


def _peers(rules: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Who may reach all ports by rules of ours, one at a time."""
    for rule in rules:
        for peer in rule.get("from") or () if not rule.get("ports") else ():
            expressions = (peer.get("podSelector") or {}).get("matchExpressions")
            if expressions:
                yield from (_of_application(name) for name in expressions[0]["values"])
            else:
                yield peer


def _words(peer: Mapping[str, Any]) -> str:
    if "ipBlock" in peer:
        return f"nodes of {peer['ipBlock']['cidr']}"
    if "namespaceSelector" in peer:
        return "the controller"
    return str(peer["podSelector"]["matchExpressions"][0]["values"][0])


def _admits(rules: Iterable[Any], peer: Mapping[str, Any], namespace: str) -> bool:
    """Whether any of the rules may let the peer in; a rule for single ports counts for all of them."""
    for rule in rules:
        given = rule.get("from") if isinstance(rule, Mapping) else None
        if not given or any(_covers(one, peer, namespace) for one in given):
            return True
    return False


def _covers(one: Mapping[str, Any], peer: Mapping[str, Any], namespace: str) -> bool:
    """Whether a peer of the operator's may be this one; what other labels select is not known."""
    if "ipBlock" in peer or "ipBlock" in one:
        return "ipBlock" in peer and "ipBlock" in one and _within(peer["ipBlock"], one["ipBlock"])
    place = namespace if "namespaceSelector" not in peer else _label(peer["namespaceSelector"], _NAMESPACE)
    if "namespaceSelector" in one:
        if not _may_select(one["namespaceSelector"], _NAMESPACE, place):
            return False
    elif place != namespace:
        return False
    selector = peer["podSelector"]
    if "matchExpressions" not in selector:
        return True
    application = selector["matchExpressions"][0]["values"][0]
    return _may_select(one.get("podSelector"), _APPLICATION, application)


def _may_select(selector: Mapping[str, Any] | None, key: str, value: str) -> bool:
    """Whether a selector does not rule out what has this label."""
    wanted = _label(selector or {}, key)
    if wanted and wanted != value:
        return False
    for expression in (selector or {}).get("matchExpressions") or ():
        if expression.get("key") == key:
            named = value in (expression.get("values") or ())
            if expression.get("operator") == ("NotIn" if named else "In"):
                return False
    return True


def _label(selector: Mapping[str, Any], key: str) -> str:
    return str((selector.get("matchLabels") or {}).get(key) or "")


def _within(inner: Mapping[str, Any], outer: Mapping[str, Any]) -> bool:
    try:
        one, other = (ipaddress.ip_network(str(each["cidr"]), strict=False) for each in (inner, outer))
    except (KeyError, ValueError):
        return True  # Kubernetes refuses what is no network
    return one.version == other.version and one.subnet_of(other)  # type: ignore[arg-type]
