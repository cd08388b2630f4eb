"""Which files Helm leaves out of a chart."""

from __future__ import annotations

import time

import pytest

from controller.adapters.charts.helmignore import ignored_by
from controller.errors import ChartInvalid


@pytest.mark.parametrize(
    ("rules", "left_out", "kept"),
    [
        ("values_overrides", ["values_overrides/", "a/values_overrides"], ["values_overrides.yaml"]),
        ("*.md", ["README.md", "docs/a.md"], ["README.mdx"]),
        ("/*.md", ["README.md"], ["docs/a.md"]),
        ("docs/*.md", ["docs/a.md"], ["docs/a/b.md", "x/docs/a.md"]),
        ("notes/", ["notes/"], ["notes"]),
        ("a?c", ["abc"], ["ac", "a/c"]),
        ("[a-c].txt", ["b.txt"], ["d.txt"]),
        ("[^a].txt", ["b.txt"], ["a.txt"]),
        (r"\*.txt", ["*.txt"], ["a.txt"]),
        ("# a comment\n\n  b.txt  ", ["b.txt"], ["a.txt"]),
        ("", ["templates/.a.swp"], ["templates/a.yaml", ".a.swp", "templates/x/.a"]),
        ("!*.yaml", ["a.txt", "templates/"], ["a.yaml"]),
        ("*a*b*", ["xaxbx", "ab"], ["ba", "xax"]),
        ("a.c", ["a.c"], ["abc"]),
    ],
)
def test_rules(rules: str, left_out: list[str], kept: list[str]) -> None:
    ignored = ignored_by(rules)

    assert [name for name in left_out if not ignored(name.rstrip("/"), name.endswith("/"))] == []
    assert [name for name in kept if ignored(name.rstrip("/"), name.endswith("/"))] == []


@pytest.mark.parametrize("rule", ["a/**/b", "[a", "a\\", "[z-a]"])
def test_a_rule_that_helm_does_not_know_is_refused(rule: str) -> None:
    with pytest.raises(ChartInvalid, match="helmignore"):
        ignored_by(rule)


def test_no_rule_takes_long() -> None:
    ignored = ignored_by("*a" * 100 + "*b")
    began = time.process_time()

    assert not ignored("a" * 255, False)
    assert time.process_time() - began < 1


@pytest.mark.slow
def test_rules_without_end_are_refused() -> None:
    with pytest.raises(ChartInvalid, match="more than"):
        ignored_by("a\n" * 100_000)
