"""Checks of services are data: expressions over the final values of a release, with what they say."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.shared.cel import CelError
from controller.domain.values.layer import Layer
from controller.domain.values.merge import MergedValues, merge_layers
from controller.domain.values.rules.checks import FUNCTIONS, parse_check
from controller.render.checked_values import checked_values
from controller.render.service_checks import failed_checks, functions_on

SAID = {
    "id": "x",
    "release": "watcher",
    "path": "spec.a",
    "message": "{item} lacks {lacks}",
    "remedy": "bring {item}",
}


def merged(values: dict[str, Any], name: str = "services.optimization.watcher") -> MergedValues:
    return merge_layers({"of": {"chart": 1}}, [Layer(name, values)])


def functions(one: MergedValues) -> Any:
    [values] = checked_values("watcher", one)
    return functions_on(values)


def found(values: dict[str, Any], features: dict[str, Any] | None = None, **check: Any) -> list[str]:
    problems = failed_checks(parse_check("x", {**SAID, **check}), features or {}, {"watcher": merged(values)})
    return [f"{one.path}: {one.message}; {one.remedy}" for one in problems]


def test_what_is_needed_is_asked_of_the_final_values() -> None:
    assert found({"a": {"b": 1}}, needs="given('a.b') && value('of.chart') == 1") == []
    assert found({"a": {"b": 0}}, needs="given('a.b')") == ["spec.a: None lacks ; bring None"]


def test_what_is_lacking_is_named_together() -> None:
    assert found({"a": 1}, lacks="['a', 'b', 'c'].filter(key, !given(key))") == [
        "spec.a: None lacks b, c; bring None"
    ]


def test_a_check_of_each_item_names_the_item() -> None:
    each: dict[str, Any] = {"forEach": "listed(value('drivers'))", "needs": "given(['conf', item, 'driver'])"}
    values = {"drivers": "one, two.2", "conf": {"one": {"driver": "x"}}}
    assert found(values, **each) == ["spec.a: two.2 lacks ; bring two.2"]


def test_a_check_is_made_only_where_it_applies() -> None:
    check: dict[str, Any] = {"when": "features.on", "needs": "given('a')"}
    assert found({}, {"on": False}, **check) == []
    assert found({}, {"on": True}, **check) != []
    assert list(failed_checks(parse_check("x", {**SAID, "needs": "false"}), {}, {})) == [], "no such release"


def test_a_condition_that_does_not_fit_the_value_does_not_hold() -> None:
    assert found({"a": "text"}, needs="value('a').all(one, one.b > 1)") != []


def test_what_a_layer_of_ours_has_set_is_not_the_operators() -> None:
    ours, theirs = merged({"a": 1}, "service optimization"), merged({"a": 1})
    assert [functions(one)["own"]("a") for one in (ours, theirs)] == [False, True]
    assert [functions(one)["chosen"]("a") for one in (ours, theirs)] == [True, True]
    assert not functions(theirs)["chosen"]("of.chart")


@pytest.mark.parametrize("needs", ["givn('a')", "feature.on", "['a'].all(key, given(name))", "given('a'"])
def test_what_a_check_does_not_have_is_refused_when_it_is_read(needs: str) -> None:
    with pytest.raises(CelError):
        parse_check("x", {**SAID, "needs": needs})


def test_the_functions_are_those_that_are_known() -> None:
    assert set(functions(merged({}))) == FUNCTIONS


LABELS = {"conf": {"overrides": {"watcher_agent": {"labels": [{"conf": {"a": 2}}, {"conf": {"b": 3}}]}}}}


def test_a_check_of_a_daemonset_looks_at_the_values_of_each_label_too() -> None:
    check: dict[str, Any] = {"daemonset": "agent", "needs": "value('conf.a') != 2 || value('conf.b') != 1"}
    assert len(found({"conf": {"b": 1, **LABELS["conf"]}}, **check)) == 1
    both = {"conf": {"a": 2, "b": 1, **LABELS["conf"]}}
    assert len(found(both, **check)) == 1, "and what is wrong on all nodes is told once"
    assert found(both, **{**check, "daemonset": "other"}) == found(both, needs=check["needs"])


def test_a_problem_is_at_the_value_with_its_line() -> None:
    check = {**SAID, "path": "spec.services.optimization.watcher.values.types.*.size", "needs": "false"}
    lines: dict[tuple[str | int, ...], int] = {("spec",): 1, ("spec", "v", "types", "one", "size"): 9}
    layer = Layer("services", {"types": {"one": {"size": 1}}}, "a.yaml", ("spec", "v"), lines)
    release = merge_layers({}, [layer])
    parsed = parse_check("x", {**check, "forEach": "keys(value('types'))"})
    [problem] = failed_checks(parsed, {}, {"watcher": release})
    assert (problem.path, problem.source) == ("spec.v.types.one.size", "a.yaml:9")


def test_a_problem_of_a_feature_stays_at_its_field() -> None:
    release = merge_layers({}, [Layer("services", {"a": 1}, "a.yaml", ("spec", "v"))])
    parsed = parse_check("x", {**SAID, "path": "spec.features.dns", "needs": "false"})
    [problem] = failed_checks(parsed, {}, {"watcher": release})
    assert (problem.path, problem.source) == ("spec.features.dns", "")
