"""What charts need that their releases can be made: rules to hold, and names of cluster-wide roles.

Kubernetes lets an account grant only what it holds itself, in the namespace for a Role and in the whole
cluster for a ClusterRole. It may bind another owner's role if it has that right for the role's name. Needs
are in named sets. Names that end in the region's namespace have a placeholder, so that one set serves all
regions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from controller.domain.validation.rbac_union import Permission, granted, permissions, union

# Stands in names for the namespace of the region; the controller's chart puts that in.
NAMESPACE_PLACE = "{namespace}"
GROUP = "rbac.authorization.k8s.io"


@dataclass(frozen=True)
class Rights:
    """What must be held: in the region's namespace, and in the whole cluster.

    `cluster_roles` and `cluster_role_bindings` are the names of those that Helm makes.
    """

    rules: frozenset[Permission] = frozenset()
    cluster_rules: frozenset[Permission] = frozenset()
    cluster_roles: frozenset[str] = frozenset()
    cluster_role_bindings: frozenset[str] = frozenset()

    @classmethod
    def of(cls, objects: Iterable[Mapping[str, Any]], namespace: str) -> Self:
        """What Kubernetes objects of a release in this namespace need."""
        found = [obj for obj in objects if str(obj.get("kind")).startswith(("Role", "ClusterRole"))]

        def names(kind: str) -> frozenset[str]:
            return frozenset(_with_place(one["metadata"]["name"], namespace) for one in _of(kind, found))

        return cls(
            _placed(granted(_of("Role", found)) | _bound("RoleBinding", found), namespace),
            _placed(granted(_of("ClusterRole", found)) | _bound("ClusterRoleBinding", found), namespace),
            names("ClusterRole"),
            names("ClusterRoleBinding"),
        )

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Self:
        """From `as_data`."""
        return cls(
            permissions(entry.get("rules") or ()),
            permissions(entry.get("clusterRules") or ()),
            frozenset(entry.get("clusterRoles") or ()),
            frozenset(entry.get("clusterRoleBindings") or ()),
        )

    def as_data(self, namespace: str = NAMESPACE_PLACE) -> dict[str, list[Any]]:
        """Lists for YAML, in a fixed order, with `namespace` in its place; what is empty is left out."""
        lists: dict[str, list[Any]] = {
            "rules": union(_filled(self.rules, namespace)),
            "clusterRules": union(_filled(self.cluster_rules, namespace)),
            "clusterRoles": _fill(self.cluster_roles, namespace),
            "clusterRoleBindings": _fill(self.cluster_role_bindings, namespace),
        }
        return {key: entries for key, entries in lists.items() if entries}

    def __bool__(self) -> bool:
        return self != type(self)()

    def __or__(self, other: Rights) -> Rights:
        return Rights(
            self.rules | other.rules,
            self.cluster_rules | other.cluster_rules,
            self.cluster_roles | other.cluster_roles,
            self.cluster_role_bindings | other.cluster_role_bindings,
        )

    def beyond(self, held: Rights) -> Rights:
        """Those of these that who holds the others lacks; what is held for all names is held for each."""
        return Rights(
            _beyond(self.rules, held.rules | held.cluster_rules),
            _beyond(self.cluster_rules, held.cluster_rules),
            self.cluster_roles - held.cluster_roles,
            self.cluster_role_bindings - held.cluster_role_bindings,
        )


def choose_sets(needed: Rights, sets: Mapping[str, Rights]) -> tuple[tuple[str, ...], Rights]:
    """The names of those sets, in their order, that give what is needed, and what none of them gives.

    Each that is chosen gives something that those before it do not.
    """
    chosen = []
    for name, rights in sets.items():
        remaining = needed.beyond(rights)
        if remaining != needed:
            chosen.append(name)
            needed = remaining
    return tuple(chosen), needed


def _of(kind: str, objects: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [obj for obj in objects if obj["kind"] == kind]


def _bound(kind: str, objects: Iterable[Mapping[str, Any]]) -> frozenset[Permission]:
    """What it takes to bind roles that are not among the objects: a right on each, by its name."""
    made = {(obj["kind"], obj["metadata"]["name"]) for obj in objects}
    named = {(obj["roleRef"]["kind"], obj["roleRef"]["name"]) for obj in _of(kind, objects)}
    return frozenset((GROUP, f"{role.lower()}s", name, "bind") for role, name in named - made)


def _with_place(name: str, namespace: str) -> str:
    """The name with a place at its end, if it ends in the namespace."""
    return f"{name.removesuffix(namespace)}{NAMESPACE_PLACE}" if name.endswith(f"-{namespace}") else name


def _placed(found: Iterable[Permission], namespace: str) -> frozenset[Permission]:
    return frozenset((group, kind, _with_place(name, namespace), verb) for group, kind, name, verb in found)


def _filled(found: Iterable[Permission], namespace: str) -> frozenset[Permission]:
    return frozenset(
        (group, kind, name.replace(NAMESPACE_PLACE, namespace), verb) for group, kind, name, verb in found
    )


def _fill(names: Iterable[str], namespace: str) -> list[str]:
    return sorted(name.replace(NAMESPACE_PLACE, namespace) for name in names)


def _beyond(needed: frozenset[Permission], held: frozenset[Permission]) -> frozenset[Permission]:
    return frozenset(one for one in needed if one not in held and (one[0], one[1], "", one[3]) not in held)
