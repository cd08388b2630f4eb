"""What a newcomer meets first agrees with what there is: the licence, the checks of a commit, the targets."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def _recipe(target: str) -> list[str]:
    """The commands of a target."""
    [body] = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", _text("Makefile"), re.M)
    return [line.strip().removeprefix("@") for line in body.splitlines()]


def test_a_commit_is_checked_as_make_lint_does() -> None:
    [local] = yaml.safe_load(_text(".pre-commit-config.yaml"))["repos"]
    assert [hook["entry"] for hook in local["hooks"]] == [
        line.replace("$(BIN)", ".venv/bin") for line in _recipe("lint")
    ]


def test_the_licence_is_the_same_everywhere() -> None:
    assert _text("LICENSE").split()[:2] == ["Apache", "License"]
    assert tomllib.loads(_text("pyproject.toml"))["project"]["license"] == "Apache-2.0"
    chart = yaml.safe_load(_text("charts/openstack-controller/Chart.yaml"))
    assert chart["annotations"]["artifacthub.io/license"] == "Apache-2.0"
    assert 'org.opencontainers.image.licenses="Apache-2.0"' in _text("Dockerfile")


def test_the_targets_that_contributors_are_shown_are_there() -> None:
    shown = re.findall(r"\bmake ([a-z-]+)", _text("CONTRIBUTING.md"))
    shown += re.findall(r"`(test-?[a-z]*)`", _text("CONTRIBUTING.md"))
    targets = set(re.findall(r"^([a-z-]+):", _text("Makefile"), re.M))
    assert len(shown) > 10 and set(shown) <= targets
