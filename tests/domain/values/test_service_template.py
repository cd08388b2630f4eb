"""Templates: what an operator writes can never become YAML of its own."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.domain.values.rules.service_rules import parse_rule, rule_functions
from controller.domain.values.templates.service_template import ServiceTemplates
from controller.errors import Problem, SpecInvalid

TEMPLATES = ServiceTemplates()
RULES = {
    "twice": parse_rule(
        "x", {"id": "twice", "path": "spec.features.x", "message": '"{name}" cannot be', "remedy": "do this"}
    ),
    "late": parse_rule(
        "x", {"id": "late", "path": "spec.features.y", "message": "is late", "remedy": "wait", "warns": True}
    ),
}
# What YAML makes of a text is the point here: twice the examples of the other tests.
MANY = settings(max_examples=2 * settings().max_examples, deadline=None)
JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**62), 2**62), st.text(max_size=20)),
    lambda below: st.one_of(
        st.lists(below, max_size=3), st.dictionaries(st.text(max_size=6), below, max_size=3)
    ),
    max_leaves=6,
)


def rendered(text: str, **context: Any) -> Any:
    return TEMPLATES.render("values/services/x.yaml.j2", text, context).value


def refusal(text: str, **context: Any) -> Problem:
    with pytest.raises(SpecInvalid) as refused:
        rendered(text, **context)
    return refused.value.problems[0]


@pytest.mark.parametrize(
    "value",
    [
        "no",
        "#x",
        "a: b",
        "1:30",
        "012",
        "null",
        "",
        "- x",
        "{{ x }}",
        "a\nb: 1",
        "'",
        '"',
        "\u0085",
        "\u2028",
        "\x07",
        "é😀",
        "<&>",
    ],
)
def test_a_text_stays_the_text_it_was(value: str) -> None:
    assert rendered("a: {{ value }}\n", value=value) == {"a": value}
    assert rendered("{{ value }}: 1\n", value=value) == {value: 1}


@pytest.mark.slow
@given(JSON_VALUES)
@MANY
def test_every_value_is_read_back_as_it_was_written(value: Any) -> None:
    assert rendered("a: {{ value }}\nb: [{{ value }}]\n", value=value) == {"a": value, "b": [value]}


@given(st.floats(allow_nan=False, allow_infinity=False))
@MANY
def test_every_number_is_read_back_as_it_was_written(number: float) -> None:
    assert rendered("a: {{ value }}\n", value=number) == {"a": number}


def test_lines_are_those_of_the_template() -> None:
    text = (
        "{# one\n   two #}\na: 1\n{% for n in [1, 2] %}\n{{ 'k' ~ n }}:\n  b: {{ n }}\n{% endfor %}\nz: 1\n"
    )
    lines = TEMPLATES.render("x", text, {}).lines
    assert lines[("a",)] == 3
    assert lines[("k1",)] == lines[("k2",)] == 5
    assert lines[("k2", "b")] == 6
    assert lines[("z",)] == 8


def test_an_unknown_name_is_a_defect_of_the_template_with_its_line() -> None:
    problem = refusal("a: 1\nb: {{ main.regoin }}\n", main={"region": "x"})
    assert problem.source == "values/services/x.yaml.j2:2"
    assert "regoin" in problem.message


@pytest.mark.parametrize(
    "text", ["a: {% if %}\n", "a: [1\n", "a: {{ 1 / 0 }}\n", "a: {{ x() }}\n", "a: {{ 'x' + 1 }}\n"]
)
def test_a_broken_template_is_reported_as_our_defect(text: str) -> None:
    assert "defect of the template" in refusal(text, x=1).remedy


def test_a_template_refuses_input_with_the_path_of_the_input() -> None:
    problem = refusal('{{ refuse("twice", name="a{b}") }}', **rule_functions(RULES, print))
    assert problem == Problem("spec.features.x", '"a{b}" cannot be', "do this")


def test_a_template_warns_by_a_rule_of_its_folder_and_goes_on() -> None:
    warned: list[Problem] = []
    functions = rule_functions(RULES, warned.append)
    assert rendered('{% do warn("late") %}a: 1\n', **functions) == {"a": 1}
    assert warned == [Problem("spec.features.y", "is late", "wait")]


@pytest.mark.parametrize(
    "call", ['refuse("unknown")', 'refuse("late")', 'warn("twice", name="a")', 'refuse("twice")']
)
def test_a_rule_that_the_folder_does_not_have_so_is_a_defect_of_the_template(call: str) -> None:
    problem = refusal(f"a: {{{{ {call} }}}}\n", **rule_functions(RULES, print))
    assert problem.source == "values/services/x.yaml.j2:1"


@pytest.mark.parametrize(
    "text",
    [
        "a: {{ ''.__class__.__mro__ }}\n",
        "a: {{ main.update({'x': 1}) }}\n",
        "a: {{ cycler.__init__.__globals__ }}\n",
        "a: {{ items.append(1) }}\n",
    ],
)
def test_the_sandbox_lets_nothing_out_and_nothing_be_changed(text: str) -> None:
    with pytest.raises(SpecInvalid):
        rendered(text, main={}, items=[])
