"""The images of a region by the names that its charts have for them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sandbox.errors import SandboxError
from sandbox.images.build import CONTROLLER_NAME
from sandbox.images.names import names_of_recipes, repository
from sandbox.images.recipes import recipes
from sandbox.patience import patient

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "charts/openstack-controller/examples/core-real.yaml"


def test_the_controllers_image_has_the_name_that_its_chart_asks_for_by_default() -> None:
    chart = EXAMPLE.parents[1]
    image = yaml.load((chart / "values.yaml").read_text(), yaml.CSafeLoader)["image"]
    version = yaml.load((chart / "Chart.yaml").read_text(), yaml.CSafeLoader)["appVersion"]
    assert (image["tag"], image["digest"]) == ("", "")
    assert f"docker.io/library/{image['repository']}:{version}" == CONTROLLER_NAME


def test_a_repository_is_the_last_part_without_tag_and_digest() -> None:
    assert repository("registry:5000/airshipit/nova:2025.1-ubuntu_noble") == "nova"
    assert repository("sandbox.local/rabbitmq@sha256:abc") == "rabbitmq"


def test_images_of_another_registry_and_unknown_ones_are_reported_together() -> None:
    with pytest.raises(SandboxError) as reported:
        names_of_recipes(["quay.io/airshipit/nova:1", "sandbox.local/airshipit/manila:1"], recipes("2025.1"))
    assert "quay.io/airshipit/nova:1 is not of the registry sandbox.local" in str(reported.value)
    assert "sandbox.local/airshipit/manila:1: there is no recipe for it" in str(reported.value)


@pytest.mark.slow
def test_every_image_of_the_real_region_has_a_recipe() -> None:
    shown = subprocess.run(
        [sys.executable, "-P", "-m", "controller.cli.main", "images", str(EXAMPLE), "--output", "json"],
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=patient(120),
        check=True,
    )
    images = [row["image"] for row in json.loads(shown.stdout)]
    named = names_of_recipes(images, recipes("2025.1"))
    # Backups are a feature that the example does not have.
    elsewhere = {"horizon-2025.1", "libvirt", "openvswitch", "restic"}
    assert set(named) == {recipe.name for recipe in recipes("2025.1")} - elsewhere
