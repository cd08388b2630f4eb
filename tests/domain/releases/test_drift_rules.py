"""What a region says of drift reaches each release, and slips are reported."""

from __future__ import annotations

import pytest

from controller.domain.releases.bundle import DriftIgnore
from controller.domain.releases.drift.ignore_rules import (
    drift_of,
    drift_rules,
    ignore_objects,
    ignore_rules,
    unknown_releases,
)

RULES = [
    {"release": "nova", "mode": "Warn", "ignore": [{"kind": "Deployment", "paths": ["/spec/replicas"]}]},
    {"release": "*", "ignore": [{"paths": ["/metadata/annotations/*"]}]},
    {"release": "glance", "mode": "Ignore"},
]
EVERYWHERE = DriftIgnore(paths=("/metadata/annotations/*",))
OF_NOVA = DriftIgnore(kind="Deployment", paths=("/spec/replicas",))


@pytest.mark.parametrize(
    ("release", "mode", "rules"),
    [
        ("nova", "Warn", (EVERYWHERE, OF_NOVA)),
        ("glance", "Ignore", (EVERYWHERE,)),
        ("keystone", "Correct", (EVERYWHERE,)),
    ],
)
def test_a_releases_own_rule_goes_before_that_of_all(
    release: str, mode: str, rules: tuple[DriftIgnore, ...]
) -> None:
    assert drift_of("Correct", drift_rules(RULES), release) == (mode, rules)


def test_the_plain_word_alone_holds_for_all() -> None:
    assert drift_of("Warn", (), "nova") == ("Warn", ())


def test_rules_keep_their_form_on_the_way_through_a_bundle() -> None:
    items = [{"kind": "Service", "name": "web", "paths": ["/spec/ports"]}, {"paths": ["/data"]}]
    assert ignore_objects(ignore_rules(items)) == items


def test_a_rule_for_a_release_that_is_not_there_is_reported() -> None:
    known = {"nova", "glance"}
    assert list(unknown_releases(drift_rules(RULES), known)) == []
    [problem] = unknown_releases(drift_rules([{"release": "nvoa"}]), known)
    assert problem.path == "spec.driftRules[0].release"
    assert problem.remedy == 'did you mean "nova"?'
