"""What roles grant, taken together: Kubernetes lets an account grant only what it holds itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Rule = Mapping[str, Any]
# One permission: API group, resource, name of the object (empty: any), verb.
Permission = tuple[str, str, str, str]

_ROLES = ("Role", "ClusterRole")


def permissions(rules: Iterable[Rule]) -> frozenset[Permission]:
    """Every single permission that the rules give; URLs outside of resources are not looked at."""
    return frozenset(_single(rules))


def granted(objects: Iterable[Mapping[str, Any]]) -> frozenset[Permission]:
    """What the Roles and ClusterRoles among Kubernetes objects grant."""
    roles = [obj for obj in objects if obj.get("kind") in _ROLES]
    return permissions(rule for role in roles for rule in role.get("rules") or ())


def union(granting: Iterable[Permission]) -> list[dict[str, Any]]:
    """Few rules, in a fixed order, that give exactly these permissions.

    A permission on one named object is left out where the same is permitted on any.
    """
    everything = frozenset(granting)
    verbs: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for group, resource, name, verb in everything:
        if not name or (group, resource, "", verb) not in everything:
            verbs[group, resource, name].add(verb)
    resources: dict[tuple[str, str, tuple[str, ...]], set[str]] = defaultdict(set)
    for (group, resource, name), allowed in verbs.items():
        resources[group, name, tuple(sorted(allowed))].add(resource)
    return [
        {
            "apiGroups": [group],
            "resources": sorted(targets),
            **({"resourceNames": [name]} if name else {}),
            "verbs": list(allowed),
        }
        for (group, name, allowed), targets in sorted(resources.items())
    ]


def _single(rules: Iterable[Rule]) -> Iterator[Permission]:
    for rule in rules:
        for group in rule.get("apiGroups") or ():
            for resource in rule.get("resources") or ():
                for name in rule.get("resourceNames") or ("",):
                    for verb in rule.get("verbs") or ():
                        yield (group, resource, name, verb)
