"""The parts of a spec and the commands that the pages show are taken as they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from controller.cli.main import app
from controller.render.region import render_region
from tests.cli.objects import example_text, osctl
from tests.render.region import UPSTREAM_REPOSITORY, UpstreamCharts, deployment, library

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
# What a page leaves out, as it is about something else.
REGION = {
    "openstackVersion": "2026.1",
    "preset": "compute",
    "size": "small",
    "publicDomainName": "cloud.example.org",
    "charts": {"repository": UPSTREAM_REPOSITORY},
    "features": {
        "networking": {"externalNetworks": [{"name": "public", "bridge": "br-ex"}]},
        "blockStorage": {"backends": [{"name": "own", "type": "custom", "conf": {"volume_driver": "a.B"}}]},
    },
}
# What an example of certificates leaves out: ids of a region that runs.
NOT_SHOWN = "spec.features.loadBalancer.provider: no amphora can be created without"
# Every region with OVN that keeps no one off its databases is warned of it.
OF_THE_SERVICE = (
    "spec.features.networkPolicies.enabled: the databases of OVN speak in clear",
    # An example of lines for Apache leaves out the provider.
    "spec.features.identity.federation.directives: has no effect",
)


def _blocks(text: str, language: str) -> Iterator[tuple[int, str]]:
    """Blocks of a page with the line that each begins in."""
    found = re.finditer(rf"^( *)```{language}\n(.*?)^\1```", text, re.MULTILINE | re.DOTALL)
    return ((text.count("\n", 0, one.start()) + 1, one[2]) for one in found)


def fragments() -> dict[str, dict[str, Any]]:
    """Every example that begins with `spec:`, by page and line."""
    found = {}
    for page in PAGES:
        for line, block in _blocks(page.read_text(encoding="utf-8"), "yaml"):
            if block.lstrip().startswith("spec:"):
                found[f"{page.name}:{line}"] = yaml.load(block, yaml.CSafeLoader)["spec"]
    return found


FRAGMENTS = fragments()


@pytest.mark.slow
@pytest.mark.parametrize("place", FRAGMENTS)
def test_an_example_makes_a_region_without_a_warning(place: str) -> None:
    spec = deployment(_merged(REGION, FRAGMENTS[place]))
    region = render_region(spec, library(), UpstreamCharts(), partial=True)
    assert region.bundles and not region.missing
    assert [text for one in region.warnings if not (text := str(one)).startswith(OF_THE_SERVICE)] == []
    assert [text for one in region.lacking if not (text := str(one.problem)).startswith(NOT_SHOWN)] == []


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    inner = {
        key: _merged(below[key], value) if isinstance(below.get(key), Mapping) else value
        for key, value in above.items()
    }
    return {**below, **inner}


def commands() -> list[tuple[str, list[str]]]:
    """Every line of a page that calls osctl, with its place."""
    found = []
    for page in PAGES:
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            called = re.match(r"^\s*(?:\$ )?osctl ((?:[a-z]|-)[^#|;]*)", line)
            if called:
                found.append((f"{page.name}:{number}", called[1].split()))
    return found


@pytest.mark.slow
def test_commands_of_the_pages_are_those_of_osctl_with_options_that_they_have() -> None:
    root = typer.main.get_command(app)
    wrong = [f"{place}: {problem}" for place, words in commands() if (problem := _problem(root, words))]
    assert wrong == []
    assert len(commands()) > 30


# Those that work on files alone.
_OFFLINE = ("explain", "fields", "render", "validate", "images")


def offline_commands() -> list[str]:
    """The calls of the pages about the file of a region, and no cluster.

    Those that render all of it are in tests/cli."""
    found = (words for _, words in commands() if words[0] in _OFFLINE)
    left_out = {"FILE", "-", "--nodes", "--digests"}
    short = (words for words in found if "--manifests" not in words or "--release" in words)
    return sorted({" ".join(words) for words in short if not left_out & set(words) and len(words) > 1})


@pytest.mark.slow
@pytest.mark.parametrize("command", offline_commands())
def test_a_command_that_needs_no_cluster_does_what_the_page_shows(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    option = {"nova": {"values": {"conf": {"nova": {"DEFAULT": {"reclaim_instance_interval": 604800}}}}}}
    text = example_text(services={"compute": option}, images={"registry": "registry.example.org/openstack"})
    (tmp_path / "region.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    result = osctl(*command.split())
    assert result.exit_code == 0, result.output
    assert result.stdout


def _problem(command: Any, words: list[str]) -> str:
    """What osctl has not, of one call; empty where it has all."""
    while hasattr(command, "commands") and words:
        name, words = words[0], words[1:]
        if name.startswith("-"):
            return ""
        if name not in command.commands:
            return f"no command {name}"
        command = command.commands[name]
    known = {option for one in command.params for option in one.opts}
    asked = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
    return ", ".join(sorted(asked - known - {"-h", "--help"}))
