"""Which fields are behind what a template writes: found by changing them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from controller.domain.values.layer import Layer
from controller.domain.values.templates.field_causes import FieldOrigin, FieldTree, find_causes, named_in
from controller.errors import Problem, SpecInvalid

LINES = {("spec", "a"): 2, ("spec", "list"): 3, ("spec", "list", 1): 5}
SCHEMA = {"properties": {"backend": {"type": "string", "enum": ["ovs", "ovn"]}}}


def causes(tree: Mapping[str, Any], write: Any) -> dict[str, list[str]]:
    """Paths of causes by path of the leaf, for a function in the place of the templates."""

    def ask(given: Mapping[str, Any]) -> Iterator[Layer]:
        yield Layer("service", write(given))

    groups = tuple((key,) for key in tree if key.startswith("group"))
    fields = FieldTree(tree, tuple(tree), ask, named_in("region.yaml", ("spec",), LINES), SCHEMA, groups)
    found = find_causes(ask(tree), [fields])
    return {".".join(path): [cause.path for cause in said] for (_, path), said in found.items()}


def test_a_field_that_is_written_is_the_cause_of_what_is_written() -> None:
    assert causes({"a": "x", "b": "y"}, lambda s: {"out": s.get("a"), "other": 1}) == {"out": ["spec.a"]}


def test_a_field_that_a_condition_asks_for_is_a_cause() -> None:
    assert causes({"a": True}, lambda s: {"out": {"inner": "on" if s.get("a") else "off"}}) == {
        "out.inner": ["spec.a"]
    }


def test_a_field_without_which_a_leaf_would_not_be_there_is_its_cause() -> None:
    assert causes({"a": True}, lambda s: {"out": 1} if s.get("a") else {}) == {"out": ["spec.a"]}


def test_a_field_that_is_set_to_its_default_is_a_cause_too() -> None:
    assert causes({"backend": "ovs"}, lambda s: {"out": s.get("backend", "ovs")}) == {"out": ["spec.backend"]}
    assert causes({"a": 1}, lambda s: {"out": s.get("a", 1)}) == {"out": ["spec.a"]}
    assert causes({"a": False}, lambda s: {"out": s.get("a", False)}) == {"out": ["spec.a"]}
    assert causes({"a": "10.0.0.1"}, lambda s: {"out": s.get("a", "10.0.0.1")}) == {"out": ["spec.a"]}


def test_each_item_of_a_list_is_a_cause_of_the_text_that_joins_them() -> None:
    assert causes({"list": ["x", "y"]}, lambda s: {"out": ",".join(s["list"])}) == {
        "out": ["spec.list[0]", "spec.list[1]"]
    }


def test_a_field_that_its_item_needs_is_a_cause_though_it_cannot_be_left_out() -> None:
    def write(given: Mapping[str, Any]) -> dict[str, Any]:
        if any(item.get("name") != "public" for item in given["list"]):
            raise SpecInvalid([Problem("spec.list", "no name, or a wrong one")])
        return {"out": [item["name"] for item in given["list"]]}

    assert causes({"list": [{"name": "public"}]}, write) == {"out": ["spec.list[0].name"]}


def test_fields_that_need_each_other_are_a_cause_together() -> None:
    def write(given: Mapping[str, Any]) -> dict[str, Any]:
        group = given.get("group", {})
        if (group.get("backend") == "vault") != ("url" in group):
            raise SpecInvalid([Problem("spec.group", "vault and url need each other")])
        return {"plugin": group.get("backend", "simple"), "url": group.get("url", "")}

    tree = {"group": {"backend": "vault", "url": "https://x"}}
    assert causes(tree, write) == {"plugin": ["spec.group"], "url": ["spec.group.url"]}


def test_groups_that_need_each_other_are_causes_together() -> None:
    def write(given: Mapping[str, Any]) -> dict[str, Any]:
        if ("group1" in given) != ("group2" in given):
            raise SpecInvalid([Problem("spec.group1", "needs group2, and the reverse")])
        return {"out": 1, "route": 1} if "group1" in given else {"out": 1}

    assert causes({"group1": {"a": None}, "group2": {"b": None}}, write) == {
        "route": ["spec.group1", "spec.group2"]
    }


def test_what_no_field_changes_has_no_cause() -> None:
    assert causes({"a": "x"}, lambda _: {"out": 1}) == {}


def test_a_number_and_a_boolean_that_are_equal_in_python_differ() -> None:
    assert causes({"a": 1}, lambda s: {"out": s.get("a", True)}) == {"out": ["spec.a"]}


def test_a_cause_has_the_line_of_its_field_or_of_the_nearest_above_it() -> None:
    def ask(given: Mapping[str, Any]) -> Iterator[Layer]:
        yield Layer("service", {"out": str(given)})

    tree = {"a": "x", "list": ["y", "z"]}
    found = find_causes(
        ask(tree), [FieldTree(tree, ("a", "list"), ask, named_in("region.yaml", ("spec",), LINES))]
    )
    assert found["service", ("out",)] == (
        FieldOrigin("spec.a", "region.yaml:2"),
        FieldOrigin("spec.list[0]", "region.yaml:3"),
        FieldOrigin("spec.list[1]", "region.yaml:5"),
    )


def test_the_tree_is_left_as_it_was() -> None:
    tree = {"list": [{"a": 1}, {"a": 2}]}
    causes(tree, lambda s: {"out": s.get("list")})
    assert tree == {"list": [{"a": 1}, {"a": 2}]}


@pytest.mark.slow
def test_what_is_asked_of_one_leaf_is_what_all_are_asked_of_it_and_costs_little() -> None:
    asked = 0

    def ask(given: Mapping[str, Any]) -> Iterator[Layer]:
        nonlocal asked
        asked += 1
        rules = given.get("rules", {})
        yield Layer("service", {"rules": dict(rules), "one": rules.get("r77"), "none": given.get("a")})

    tree = {"rules": {f"r{number}": "role:x" for number in range(300)}, "a": "x"}
    fields = [FieldTree(tree, tuple(tree), ask, named_in("region.yaml", ("spec",), LINES))]
    whole = find_causes(ask(tree), fields)
    for path, most in ((("one",), 45), (("none",), 12), (("rules", "r5"), 45)):
        asked = 0
        assert find_causes(ask(tree), fields, path) == {("service", path): whole["service", path]}
        assert asked < most
