"""What roles grant together."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.domain.validation.rbac_union import granted, permissions, union


def _rule(
    resources: list[str], verbs: list[str], group: str = "", names: list[str] | None = None
) -> dict[str, Any]:
    rule: dict[str, Any] = {"apiGroups": [group], "resources": resources, "verbs": verbs}
    return {**rule, "resourceNames": names} if names else rule


words = st.lists(st.sampled_from("abc"), min_size=1, unique=True)
rules = st.lists(st.builds(_rule, words, words, st.sampled_from(["", "apps"]), st.none() | words), max_size=5)


def test_only_roles_grant() -> None:
    objects = [
        {"kind": "Role", "rules": [_rule(["pods"], ["get"])]},
        {"kind": "ClusterRole", "rules": [_rule(["jobs"], ["list"], "batch")]},
        {"kind": "RoleBinding", "rules": [_rule(["secrets"], ["get"])]},
        {"kind": "Role", "rules": None},
    ]
    assert granted(objects) == {("", "pods", "", "get"), ("batch", "jobs", "", "list")}


def test_rules_of_equal_verbs_become_one() -> None:
    assert union(
        permissions([_rule(["services"], ["list", "get"]), _rule(["endpoints"], ["get", "list"])])
    ) == [_rule(["endpoints", "services"], ["get", "list"])]


def test_a_named_object_needs_no_rule_where_any_is_permitted() -> None:
    assert union(permissions([_rule(["secrets"], ["get"], names=["a"]), _rule(["secrets"], ["get"])])) == [
        _rule(["secrets"], ["get"])
    ]


def test_a_named_object_keeps_its_name() -> None:
    [rule] = union(permissions([_rule(["secrets"], ["get"], names=["a"])]))
    assert rule == _rule(["secrets"], ["get"], names=["a"])


@pytest.mark.slow
@given(rules)
def test_the_union_grants_what_the_rules_grant(listed: list[dict[str, Any]]) -> None:
    before, after = permissions(listed), permissions(union(permissions(listed)))
    covered = {
        (group, resource, name, verb)
        for group, resource, name, verb in before
        if name and (group, resource, "", verb) in before
    }
    assert after == before - covered


@pytest.mark.slow
@given(rules, st.randoms(use_true_random=False))
def test_the_order_of_rules_does_not_matter(listed: list[dict[str, Any]], random: Any) -> None:
    shuffled = listed[:]
    random.shuffle(shuffled)
    assert union(permissions(shuffled)) == union(permissions(listed))
