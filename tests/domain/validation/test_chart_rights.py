"""What charts need to be held, and which sets give it."""

from __future__ import annotations

from typing import Any

from controller.domain.validation.chart_rights import GROUP, Rights, choose_sets


def _role(kind: str, name: str, *verbs: str, resource: str = "pods") -> dict[str, Any]:
    rule = {"apiGroups": [""], "resources": [resource], "verbs": list(verbs)}
    return {"kind": kind, "metadata": {"name": name}, "rules": [rule]}


def _binding(name: str, role: str = "list-nodes-here", kind: str = "ClusterRoleBinding") -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name}, "roleRef": {"kind": "ClusterRole", "name": role}}


PODS = Rights.of([_role("Role", "wait", "get", "list")], "here")
NODES = Rights.of(
    [_role("ClusterRole", "list-nodes-here", "get", resource="nodes"), _binding("n-here")], "here"
)


def test_a_role_needs_its_rules_in_the_namespace_and_a_cluster_role_in_the_cluster_and_its_name() -> None:
    assert PODS.as_data() == {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]}
    assert NODES.as_data("there") == {
        "clusterRules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}],
        "clusterRoles": ["list-nodes-there"],
        "clusterRoleBindings": ["n-there"],
    }


def test_what_ends_in_the_namespace_has_a_place_for_it_and_what_only_holds_it_has_none() -> None:
    named = Rights.of(
        [_role("ClusterRole", "here-and-there", "get"), _role("ClusterRole", "is-here", "get")], "here"
    )
    assert named.as_data()["clusterRoles"] == ["here-and-there", "is-{namespace}"]


def test_a_role_that_is_anothers_may_be_bound_by_its_name_and_in_the_namespace_only() -> None:
    bound = Rights.of([_binding("theirs", "their-role", "RoleBinding")], "here")
    assert bound == Rights(rules=frozenset({(GROUP, "clusterroles", "their-role", "bind")}))


def test_rights_are_read_as_they_are_written() -> None:
    assert Rights.read((PODS | NODES).as_data()) == PODS | NODES


def test_who_holds_a_right_for_any_object_or_in_the_whole_cluster_lacks_it_for_none() -> None:
    one = Rights(rules=frozenset({("", "secrets", "keys", "get")}))
    any_ = frozenset({("", "secrets", "", "get")})
    assert not one.beyond(Rights(rules=any_))
    assert not one.beyond(Rights(cluster_rules=any_))
    assert Rights(cluster_rules=any_).beyond(Rights(rules=any_))


def test_the_sets_chosen_are_those_that_give_something_and_the_rest_is_reported() -> None:
    other = Rights.of([_role("Role", "other", "delete")], "here")
    sets = {"core": PODS, "unused": Rights.of([_role("Role", "x", "patch")], "here"), "nodes": NODES}
    assert choose_sets(PODS | NODES | other, sets) == (("core", "nodes"), other)
    assert choose_sets(Rights(), sets) == ((), Rights())
