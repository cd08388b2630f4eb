"""A mistake in the template of a service is reported with its line: nothing that it says goes unread."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.errors import Problem, SpecInvalid
from controller.render.region import RegionRelease, render_region
from tests.render.region import UpstreamCharts, core_spec, deployment, library

GOOD = "releases:\n  placement:\n    chart: placement\n    dependsOn: [keystone]\n"


def rendered(text: str, service: str = "placement") -> RegionRelease:
    changed = replace(library(), templates={**library().templates, service: text})
    release = render_region(deployment(core_spec()), changed, UpstreamCharts()).release("placement")
    assert release is not None
    return release


def refusal(text: str) -> Problem:
    with pytest.raises(SpecInvalid) as refused:
        rendered(text)
    [problem] = refused.value.problems
    return problem


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (GOOD + "relaeses: {}\n", 5, 'unknown key "relaeses"; did you mean "releases"?'),
        (GOOD + "    vales: {a: 1}\n", 5, 'unknown key "vales"; did you mean "values"?'),
        (GOOD.replace("chart:", "cahrt:"), 3, 'unknown key "cahrt"; did you mean "chart"?'),
        (GOOD.replace("chart: p", "chart: o"), 3, 'service placement has no chart "olacement"'),
        (GOOD.replace("[keystone]", "[keystnoe]"), 4, 'depends on "keystnoe", which is not a release'),
        (GOOD.replace("[keystone]", "keystone"), 4, "expected a list of releases, got the string"),
        (GOOD + "    timeout: 30m\n", 5, "expected a number of seconds, got the string"),
        (GOOD + "    driftIgnore: [{path: /spec}]\n", 5, "expected a list of rules with kind, name"),
        (GOOD + "    values: [1]\n", 5, "expected a map of chart values, got a list"),
        ("releases:\n  placement:\n", 2, "releases.placement: expected a map, got"),
        ("release: {}\n", 1, 'unknown key "release"; did you mean "releases"?'),
        ("releases: {}\n", 1, "service placement has no release"),
        ("# nothing\n", 1, "service placement has no release"),
    ],
)
def test_a_value_that_is_not_read_is_refused(text: str, line: int, message: str) -> None:
    with pytest.raises(SpecInvalid) as refused:
        rendered(text)
    problems = [one for one in refused.value.problems if message in one.message]
    assert [one.source for one in problems] == [f"values/services/placement/releases.yaml.j2:{line}"]


def value(expression: str) -> str:
    return f"{GOOD}    values:\n      conf: {{placement: {{DEFAULT: {{leaf: {{{{ {expression} }}}}}}}}}}\n"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            'enabled("barmetal")',
            'enabled("barmetal"): no such service in the catalogue; did you mean "baremetal"?',
        ),
        ('value_of("keystnoe", "pod")', 'did you mean "keystone"?'),
        ('value_of("glance", "pod")', "no release of a service that placement requires"),
    ],
)
def test_a_name_that_is_not_there_is_no_silent_false(expression: str, message: str) -> None:
    problem = refusal(value(expression))
    assert message in problem.message
    assert problem.source == "values/services/placement/releases.yaml.j2:6"


def test_what_a_required_service_requires_may_be_read() -> None:
    release = rendered(value('[enabled("baremetal"), value_of("rabbitmq", "no.such")]'))
    assert release.spec.values["conf"]["placement"]["DEFAULT"]["leaf"] == [False, None]
