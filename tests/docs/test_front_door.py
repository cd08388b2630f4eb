"""What a newcomer meets first agrees with what there is: the licence, the checks of a commit, the targets."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml

from tools.docs_site import lay_out

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


def _pages_of(nav: object) -> set[str]:
    if isinstance(nav, str):
        return {nav}
    parts = nav.values() if isinstance(nav, dict) else nav
    assert isinstance(parts, Iterable)
    return {page for part in parts for page in _pages_of(part)}


def test_the_site_has_every_page_in_its_navigation() -> None:
    text = _text("mkdocs.yml").replace("!!python/name:", "")
    shown = _pages_of(yaml.safe_load(text)["nav"])
    there = {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")}
    assert there - shown == set()
    assert [page for page in shown if not (ROOT / page).exists()] == []


@pytest.mark.slow
def test_the_site_has_what_its_pages_link_to_and_every_field(tmp_path: Path) -> None:
    lay_out(tmp_path)
    assert (tmp_path / "charts/openstack-controller/examples/core-single.yaml").is_file()
    fields = (tmp_path / "docs/reference-fields.md").read_text(encoding="utf-8")
    for field in ("spec.openstackVersion", "spec.features.networking.backend", "spec.releases[].values"):
        assert f"\n| `{field}` | " in fields
