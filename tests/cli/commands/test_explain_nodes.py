"""osctl explain: what some nodes have in place of a value, and the line that says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.objects import example_text, osctl

RATIO = "conf.nova.DEFAULT.cpu_allocation_ratio"
NODES = {
    f"role::{label}": {
        "services": {"compute": {"nova": {"compute": {"values": {"conf": {"nova": section}}}}}}
    }
    for label, section in (
        ("batch", {"DEFAULT": {"cpu_allocation_ratio": 2}}),
        ("gpu", {"DEFAULT": {"cpu_allocation_ratio": 1}, "pci": {"report_in_placement": True}}),
    )
}
IN_THE_CHARTS_WORDS = {
    "conf": {
        "overrides": {
            "nova_compute": {
                "labels": [
                    {
                        "label": {"key": "role", "values": ["batch", "night"]},
                        "conf": {"nova": {"DEFAULT": {"cpu_allocation_ratio": 3}}},
                    }
                ],
                "hosts": [{"name": "c1", "conf": {"nova": {"DEFAULT": {"cpu_allocation_ratio": 5}}}}],
            }
        }
    }
}


def explained(directory: Path, *arguments: str, **spec: Any) -> tuple[str, Path]:
    file = directory / "region.yaml"
    file.write_text(example_text(**spec))
    result = osctl("explain", str(file), *arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout, file


@pytest.mark.slow
def test_what_nodes_have_in_place_of_a_value_is_reported_with_its_origin(tmp_path: Path) -> None:
    text, file = explained(tmp_path, "--release", "nova", RATIO, nodes=NODES)
    first, *_, batch, gpu = text.splitlines()
    assert first not in ("1", "2")
    assert batch.startswith("  on nodes role=batch  2  spec.nodes[")
    assert gpu.startswith("  on nodes role=gpu  1  spec.nodes[")
    lines = file.read_text().splitlines()
    assert "cpu_allocation_ratio: 2" in lines[int(batch.rpartition(f"{file}:")[2]) - 1]


@pytest.mark.slow
def test_a_value_that_only_some_nodes_have_is_explained(tmp_path: Path) -> None:
    arguments = ("--release", "nova", "conf.nova.pci.report_in_placement")
    text, _ = explained(tmp_path, *arguments, nodes=NODES)
    assert text.splitlines()[0] == "(not set)"
    assert "on nodes role=gpu  true" in text


@pytest.mark.slow
def test_the_values_of_libvirt_on_some_nodes_are_explained_by_their_line(tmp_path: Path) -> None:
    values = {"values": {"conf": {"libvirt": {"log_level": 1}}}}
    nodes = {"role::batch": {"services": {"compute": {"libvirt": {"libvirt": values}}}}}
    text, file = explained(tmp_path, "--release", "libvirt", "conf.libvirt.log_level", nodes=nodes)
    line = next(no for no, one in enumerate(file.read_text().splitlines(), 1) if "log_level" in one)
    assert text.splitlines()[-1].startswith("  on nodes role=batch  1  spec.nodes[")
    assert text.splitlines()[-1].endswith(f"{file}:{line}")


@pytest.mark.slow
def test_what_services_say_of_nodes_in_the_charts_words_is_explained(tmp_path: Path) -> None:
    services = {"compute": {"nova": {"values": IN_THE_CHARTS_WORDS}}}
    text, _ = explained(tmp_path, "--release", "nova", RATIO, "-o", "json", services=services)
    [found] = json.loads(text)
    told = {(one["nodes"], one["value"], one["layer"], one["daemonSet"]) for one in found["onNodes"]}
    assert told == {
        ("role=batch,night", 3, "services", "nova_compute"),
        ("named c1", 5, "services", "nova_compute"),
    }
    assert found["onNodes"][0]["path"].endswith(f"overrides.nova_compute.labels[0].{RATIO}")
