"""The image: how it is built, from what, and as whom it runs. No engine is needed to see that."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from dockerfile_parse import DockerfileParser  # type: ignore[import-untyped]
from packaging.requirements import Requirement

from controller.domain.api.names import CONTAINERS, OPTIONAL_CONTAINERS
from sandbox.helm import HELM
from sandbox.patience import patient

ROOT = Path(__file__).parents[2]
LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-release.lock", "helm/go.lock")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CHART_VALUES = yaml.load(
    (ROOT / "charts" / "openstack-controller" / "values.yaml").read_text(), yaml.CSafeLoader
)


@pytest.fixture(scope="module")
def parser() -> DockerfileParser:
    return DockerfileParser(path=str(ROOT / "Dockerfile"), cache_content=True)


def _instructions(parser: DockerfileParser, *names: str) -> list[str]:
    return [item["value"] for item in parser.structure if item["instruction"] in names]


def _stages(parser: DockerfileParser) -> list[list[tuple[str, str]]]:
    stages: list[list[tuple[str, str]]] = []
    for item in parser.structure:
        if item["instruction"] == "FROM":
            stages.append([])
        if stages:
            stages[-1].append((item["instruction"], item["value"]))
    return stages


def test_the_linter_has_nothing_to_say() -> None:
    command = [
        Path(sys.executable).with_name("hadolint"),
        "--config",
        ROOT / ".hadolint.yaml",
        ROOT / "Dockerfile",
    ]
    words = [str(part) for part in command]
    reported = subprocess.run(words, capture_output=True, text=True, timeout=patient(60), check=False)
    assert (reported.returncode, reported.stdout) == (0, "")


def test_its_stages_have_one_base_by_a_digest_that_a_build_names(parser: DockerfileParser) -> None:
    base = "${PYTHON_IMAGE}@${PYTHON_DIGEST}"
    assert [values[0][1] for values in _stages(parser)] == [f"{base} AS helm", f"{base} AS build", base]
    image, *others = _instructions(parser, "ARG")
    assert re.fullmatch(r"PYTHON_IMAGE=python:3\.1[1-9]-slim-[a-z]+", image)
    # No digest is built in: one that is old would be used for years.
    assert others == ["PYTHON_DIGEST", "GOPROXY", "PYTHON_IMAGE", "PYTHON_DIGEST"]


def test_the_image_says_what_it_stands_on(parser: DockerfileParser) -> None:
    [labels] = _instructions(parser, "LABEL")
    assert 'image.base.name="${PYTHON_IMAGE}"' in labels and 'image.base.digest="${PYTHON_DIGEST}"' in labels


def test_the_commands_of_the_page_name_the_digest_of_the_base_that_is_built_on(
    parser: DockerfileParser,
) -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    base = _instructions(parser, "ARG")[0].removeprefix("PYTHON_IMAGE=")
    assert f"imagetools inspect {base} --format '{{{{.Manifest.Digest}}}}'" in page
    builds = [line for line in page.splitlines() if "docker build " in line]
    assert builds and all("--build-arg PYTHON_DIGEST=" in line for line in builds)


def test_the_last_stage_only_copies_what_was_built(parser: DockerfileParser) -> None:
    last = _stages(parser)[-1]
    assert [name for name, _ in last if name in ("RUN", "ADD", "EXPOSE", "VOLUME", "ENTRYPOINT")] == []
    assert [value for name, value in last if name == "COPY"] == [
        "--from=build /opt/osctl /opt/osctl",
        "--from=helm /opt/helm /opt/osctl/bin/helm",
    ]


def test_helm_is_built_from_the_pinned_module_as_the_sandbox_builds_it(parser: DockerfileParser) -> None:
    [build] = [run for run in _instructions(parser, "RUN") if "go build" in run]
    assert "-mod=readonly" in " ".join(_instructions(parser, "ENV"))
    assert f"-X {HELM}/internal/version.version=$version" in build
    assert f"go list -m -f '{{{{.Version}}}}' {HELM}" in build


def test_it_runs_as_the_number_that_the_chart_says(parser: DockerfileParser) -> None:
    *_, user = _instructions(parser, "USER")
    security = CHART_VALUES["podSecurityContext"]
    assert user == f"{security['runAsUser']}:{security['runAsGroup']}"
    assert security["runAsUser"] >= 10000


def test_nothing_is_installed_without_its_hash(parser: DockerfileParser) -> None:
    installs = [
        command
        for run in _instructions(parser, "RUN")
        for command in re.split(r"&&|;", run)
        if re.search(r"\bpip (install|download|wheel)\b", command)
    ]
    assert len(installs) == 3
    for command in installs:
        hashed = "--require-hashes" in command and "--only-binary :all:" in command
        assert hashed or "--no-index" in command, command
    assert not re.search(r"apt|curl|wget|git ", " ".join(_instructions(parser, "RUN")))


def test_no_secret_and_no_address_is_built_in(parser: DockerfileParser) -> None:
    content = "".join(item["content"] for item in parser.structure)
    assert "://" not in content
    assert not re.search(
        r"(?i)password|token|secret|--index-url|--trusted-host", content.replace("osctl-secrets", "")
    )


def test_only_what_the_image_is_made_of_reaches_the_builder(parser: DockerfileParser) -> None:
    first, *rest = [
        line
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    assert first == "*"
    allowed = {line[1:] for line in rest if line.startswith("!")}
    copied = {
        source
        for value in _instructions(parser, "COPY")
        if not value.startswith("--from")
        for source in value.split()[:-1]
    }
    assert {source.removeprefix("./") for source in copied} == allowed


def test_every_container_has_its_command_and_its_program() -> None:
    scripts = PROJECT["project"]["scripts"]
    programs = {name: f"containers.{name}:main" for name in (*CONTAINERS, *OPTIONAL_CONTAINERS)}
    found = {name: target for name, target in scripts.items() if name.startswith("osctl-")}
    assert found == {f"osctl-{name}": target for name, target in programs.items()}
    for name in programs:
        assert (ROOT / "containers" / f"{name}.py").is_file()


def test_without_a_command_it_says_what_it_can_do(parser: DockerfileParser) -> None:
    *_, command = _instructions(parser, "CMD")
    assert json.loads(command) == ["osctl", "--help"]


def _locked(lock: str) -> Iterator[tuple[Requirement, str]]:
    """Each requirement of a lock file with the lines that belong to it."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    for block in re.split(r"\n(?=[A-Za-z0-9])", re.sub(r"(?m)^\s*#.*\n?", "", text).strip()):
        yield Requirement(block.split("\\")[0].strip()), block


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_pins_and_hashes_everything(lock: str) -> None:
    for requirement, block in _locked(lock):
        assert re.fullmatch(r"==[^*,]+", str(requirement.specifier)), requirement
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block), requirement


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_host_and_no_place_of_this_machine(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert not re.search(
        r"://|index-url|find-links|trusted-host|@ |(?<![\w.-])/(home|root|tmp|work|opt|usr)\b", text
    )


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [
        ("requirements.lock", PROJECT["project"]["dependencies"]),
        (
            "requirements-dev.lock",
            [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["dev"]],
        ),
        ("requirements-release.lock", PROJECT["dependency-groups"]["release"]),
    ],
)
def test_a_lock_serves_what_the_project_asks_for(lock: str, wanted: list[str]) -> None:
    locked = {
        requirement.name: str(requirement.specifier).removeprefix("==") for requirement, _ in _locked(lock)
    }
    for text in wanted:
        requirement = Requirement(text)
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        assert requirement.specifier.contains(locked[name]), f"{lock} is older than pyproject.toml: {text}"


def test_the_locked_builder_of_our_wheel_is_in_the_image() -> None:
    locked = {requirement.name for requirement, _ in _locked("requirements.lock")}
    assert {Requirement(text).name for text in PROJECT["build-system"]["requires"]} <= locked
