"""validate, render, explain, diff and images: from a file, without a cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.objects import EXAMPLE, example_text, osctl

pytestmark = pytest.mark.slow

NOVA = {"compute": {"nova": {"values": {"conf": {"nova": {"DEFAULT": {"cpu_allocation_ratio": 4}}}}}}}


@pytest.fixture
def changed(tmp_path: Path) -> str:
    file = tmp_path / "region.yaml"
    file.write_text(example_text(services=NOVA))
    return str(file)


def line_of(file: str, text: str) -> int:
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


# -- validate


def test_a_good_file_is_valid():
    result = osctl("validate", str(EXAMPLE))
    assert result.exit_code == 0
    assert result.stdout == f"{EXAMPLE}  OpenStackDeployment/region-one is valid: 8 services, 10 releases\n"


def test_a_misspelt_service_is_reported_with_file_line_and_the_word_meant(tmp_path: Path):
    file = tmp_path / "region.yaml"
    file.write_text(example_text(services={"compute": {"nvoa": {"values": {}}}}))
    result = osctl("validate", str(file))
    assert result.exit_code == 3
    assert f"{file}:{line_of(str(file), 'nvoa')}  error: spec.services.compute.nvoa: " in result.stderr
    assert 'did you mean "nova"?' in result.stderr
    assert result.stderr.endswith("1 error\n")


def test_errors_of_one_service_do_not_hide_those_of_others(tmp_path: Path):
    file = tmp_path / "region.yaml"
    wrong = {"values": {"conf": 3}}
    services = {"identity": {"keystone": wrong}, "image": {"glance": wrong}, "compute": {"nova": wrong}}
    nodes = {"role::gpu": {"services": {"compute": {"nova": {"cmopute": {"values": {}}}}}}}
    file.write_text(example_text(services=services, nodes=nodes))
    result = osctl("validate", str(file))
    assert result.exit_code == 3
    for part in ("identity.keystone.values.conf:", "image.glance.values.conf:", "nova.values.conf:"):
        assert part in result.stderr
    assert "not checked" not in result.stderr


def test_services_that_need_a_value_of_one_with_errors_are_said_to_be_not_checked(tmp_path: Path):
    file = tmp_path / "region.yaml"
    file.write_text(example_text(services={"messaging": {"rabbitmq": {"values": {"pod": 3}}}}))
    result = osctl("validate", str(file))
    assert "spec.services.messaging.rabbitmq.values.pod: " in result.stderr
    assert "not checked because of errors in messaging: " in result.stderr
    assert "Traceback" not in result.stderr


def test_a_wrong_field_is_reported_with_file_and_line(tmp_path: Path):
    file = tmp_path / "region.yaml"
    file.write_text(example_text().replace("preset: core", "presset: core"))
    result = osctl("validate", str(file))
    assert f"{file}:{line_of(str(file), 'presset')}  error: spec.presset: " in result.stderr


def test_mistakes_are_reported_in_the_order_of_the_file(tmp_path: Path):
    file = tmp_path / "region.yaml"
    file.write_text(example_text(size="huge").replace("openstackVersion: ", "openstackVersoin: "))
    result = osctl("validate", str(file))
    lines = [int(line.split(":")[1].split()[0]) for line in result.stderr.splitlines()[:-1]]
    assert lines == sorted(lines)
    assert len(lines) >= 3


def test_stdin_is_read_and_named():
    result = osctl("validate", "-f", "-", input=example_text(size="huge"))
    assert result.exit_code == 3
    assert result.stderr.startswith("stdin:")


def test_objects_of_others_are_left_alone_and_said_so():
    text = example_text() + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: own}\n"
    result = osctl("validate", "-", input=text)
    assert result.exit_code == 0
    assert "Secret/own: not checked" in result.stderr


def test_a_wrong_bundle_is_reported_with_its_line():
    text = (
        "apiVersion: osctl.dev/v1alpha1\nkind: HelmBundle\nmetadata: {name: b}\n"
        "spec:\n  releases:\n  - name: x\n    chart: {name: x}\n"
    )
    result = osctl("validate", "-", input=text)
    assert result.exit_code == 3
    assert "stdin:7  error: spec.releases[0].chart" in result.stderr


def test_problems_as_json_are_for_programs():
    result = osctl("validate", "-", "-o", "json", input=example_text(size="huge"))
    found = json.loads(result.stdout)
    assert result.exit_code == 3
    assert found["valid"] is False
    assert found["problems"][0]["path"] == "spec.size"


def test_unreadable_yaml_as_json_too():
    result = osctl("validate", "-", "-o", "json", input="a: [")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["problems"]


def test_without_a_file_the_command_line_is_wrong():
    assert osctl("validate").exit_code == 2


# -- render


@pytest.mark.slow
def test_render_prints_the_bundles_as_a_yaml_stream():
    documents = list(yaml.safe_load_all(osctl("render", str(EXAMPLE)).stdout))
    assert [one["metadata"]["name"] for one in documents[:3]] == ["database", "messaging", "cache"]
    assert {one["kind"] for one in documents} == {"HelmBundle"}


def test_what_is_rendered_has_the_mode_of_the_region(tmp_path: Path):
    file = tmp_path / "region.yaml"
    file.write_text(example_text(mode="Plan"))
    assert {one["spec"]["mode"] for one in yaml.safe_load_all(osctl("render", str(file)).stdout)} == {"Plan"}


def test_render_prints_json_as_one_list():
    listing = json.loads(osctl("render", str(EXAMPLE), "-o", "json").stdout)
    assert listing["kind"] == "List"


def test_render_can_be_narrowed_to_a_release():
    (only,) = yaml.safe_load_all(osctl("render", str(EXAMPLE), "--release", "nova").stdout)
    assert [one["name"] for one in only["spec"]["releases"]] == ["nova"]


def test_an_unknown_release_is_reported_with_the_one_meant():
    result = osctl("render", str(EXAMPLE), "--release", "nvoa")
    assert result.exit_code == 3
    assert 'did you mean "nova"?' in result.stderr


@pytest.mark.slow
def test_manifests_are_what_helm_makes_with_names_in_place_of_secrets():
    result = osctl("render", str(EXAMPLE), "--release", "memcached", "--manifests")
    kinds = {one["kind"] for one in yaml.safe_load_all(result.stdout)}
    assert result.exit_code == 0
    assert "StatefulSet" in kinds or "Deployment" in kinds
    assert result.stderr == ""


@pytest.mark.slow
def test_render_is_deterministic():
    assert osctl("render", str(EXAMPLE)).stdout == osctl("render", str(EXAMPLE)).stdout


def test_what_is_rendered_is_a_valid_bundle(tmp_path: Path):
    file = tmp_path / "bundles.yaml"
    file.write_text(osctl("render", str(EXAMPLE)).stdout)
    assert osctl("validate", str(file)).exit_code == 0


# -- explain


@pytest.mark.slow
def test_explain_prints_the_value_and_every_layer_with_the_winner_last(changed: str):
    result = osctl("explain", changed, "--release", "nova", "conf.nova.DEFAULT.cpu_allocation_ratio")
    lines = result.stdout.splitlines()
    assert lines[0] == "4"
    assert lines[1].split()[:2] == ["chart", "defaults"]
    assert lines[-1].startswith("▸ services")
    assert f"{changed}:{line_of(changed, 'cpu_allocation_ratio')}" in lines[-1]


def test_explain_of_a_map_lists_what_is_below_it(changed: str):
    result = osctl("explain", changed, "--release", "nova", "pod.replicas", "-o", "json")
    paths = [one["path"] for one in json.loads(result.stdout)]
    assert all(path.startswith("pod.replicas.") for path in paths)
    assert len(paths) > 2


@pytest.mark.slow
def test_explain_without_a_path_lists_what_is_not_the_charts_default(changed: str):
    result = osctl("explain", changed, "--release", "nova", "-o", "json")
    found = {one["path"]: one["setBy"] for one in json.loads(result.stdout)}
    assert found["conf.nova.DEFAULT.cpu_allocation_ratio"] == "services"
    assert "chart defaults" not in found.values()


def test_explain_of_a_wrong_path_names_the_word_meant(changed: str):
    result = osctl("explain", changed, "--release", "nova", "pod.replicass.osapi")
    assert result.exit_code == 3
    assert 'did you mean "replicas"?' in result.stderr


@pytest.mark.parametrize("path", ["conf..x", 'conf["', "]"])
def test_explain_of_what_is_no_path_is_a_message(changed: str, path: str):
    result = osctl("explain", changed, "--release", "nova", path)
    assert result.exit_code == 3


@pytest.mark.slow
def test_a_secret_is_explained_by_its_reference():
    result = osctl("explain", str(EXAMPLE), "--release", "keystone", "-o", "table")
    assert "secret identity-credentials/" in result.stdout


# -- diff


def test_no_difference_is_said_and_ends_with_zero():
    result = osctl("diff", str(EXAMPLE), str(EXAMPLE))
    assert (result.exit_code, result.stdout) == (0, "= 10 releases unchanged\n")


@pytest.mark.slow
def test_a_changed_value_touches_one_release_and_shows_who_set_it(changed: str):
    result = osctl("diff", str(EXAMPLE), changed, "-o", "json")
    found = json.loads(result.stdout)
    assert result.exit_code == 1
    assert found["unchanged"] == 9
    (nova,) = found["releases"]
    (value,) = nova["values"]
    assert value["path"] == "conf.nova.DEFAULT.cpu_allocation_ratio"
    assert (value["after"], value["layerAfter"]) == ("4", "services")
    assert "Deployment nova-scheduler" in nova["objects"]["restarts"]
    assert "nova-db-sync" in nova["objects"]["jobs"]


def test_a_removed_service_is_reported_with_what_becomes_of_its_volumes(tmp_path: Path):
    file = tmp_path / "less.yaml"
    file.write_text(example_text(features={"services": {"disabled": ["image"]}}))
    result = osctl("diff", str(EXAMPLE), str(file), "--no-manifests")
    # Nova needs images: the region without them is refused, which is the better answer.
    assert result.exit_code in (1, 3)


def test_without_manifests_nothing_is_rendered(changed: str):
    result = osctl("diff", str(EXAMPLE), changed, "--no-manifests", "-o", "json")
    assert "objects" not in json.loads(result.stdout)["releases"][0]


def test_one_file_alone_is_a_wrong_command_line(changed: str):
    assert osctl("diff", changed).exit_code == 2


# -- images


@pytest.mark.slow
def test_images_lists_each_once_with_the_releases_that_run_it():
    rows: list[dict[str, Any]] = json.loads(osctl("images", str(EXAMPLE), "-o", "json").stdout)
    names = [row["image"] for row in rows]
    assert names == sorted(set(names))
    keystone = next(row for row in rows if "/keystone:" in row["image"])
    assert keystone["releases"] == ["keystone"]
    assert "2026.1" in keystone["image"]


@pytest.mark.slow
def test_images_that_a_broker_passes_through_are_listed_with_the_unused_ones(tmp_path: Path):
    file = tmp_path / "region.yaml"
    file.write_text(example_text(images={"registry": "mirror.example.org/openstack"}))
    rows = json.loads(osctl("images", str(file), "--tags", "-o", "json").stdout)
    (passed,) = [row for row in rows if row["image"] == "mirror.example.org/openstack/rabbitmq:4.2"]
    assert passed["releases"] == ["rabbitmq"]


def test_images_of_a_mirror_come_from_the_mirror(tmp_path: Path):
    file = tmp_path / "mirror.yaml"
    file.write_text(example_text(images={"registry": "mirror.example.org/openstack"}))
    rows = json.loads(osctl("images", str(file), "-o", "json").stdout)
    assert all(row["image"].startswith("mirror.example.org/openstack") for row in rows)


def test_the_image_of_backups_is_listed_and_copied(tmp_path: Path):
    file = tmp_path / "region.yaml"
    backup = {"backup": {"destination": {"claim": {}}}}
    file.write_text(example_text(images={"registry": "mirror.example.org/openstack"}, features=backup))
    rows = json.loads(osctl("images", str(file), "-o", "json").stdout)
    restic = "mirror.example.org/openstack/restic/restic:0.18.1"
    assert [row["releases"] for row in rows if row["image"] == restic] == [["features.backup"]]
    copied = json.loads(osctl("images", str(file), "--tags", "--copy", "-o", "json").stdout)
    assert {"source": "docker.io/restic/restic:0.18.1", "target": restic} in copied


def test_images_to_copy_have_source_and_target_and_a_command(tmp_path: Path):
    file = tmp_path / "mirror.yaml"
    own = "registry.example.org/mine/glance:1"
    file.write_text(
        example_text(images={"registry": "mirror.example.org/openstack", "overrides": {"glance_api": own}})
    )
    rows = json.loads(osctl("images", str(file), "--tags", "--copy", "-o", "json").stdout)
    keystone = next(row for row in rows if "/keystone:" in row["target"])
    registry, _, name = keystone["source"].partition("/")
    assert registry == "quay.io"
    assert keystone["target"] == f"mirror.example.org/openstack/{name}"
    assert any(row["target"] == "mirror.example.org/openstack/rabbitmq:4.2" for row in rows), "passed through"
    assert all(own not in row.values() for row in rows), "it is taken from where it is"
    lines = osctl("images", str(file), "--tags", "--copy").stdout.splitlines()
    assert f"skopeo copy --all docker://{keystone['source']} docker://{keystone['target']}" in lines


def test_the_image_of_backups_is_one_of_a_region_with_backups(tmp_path: Path):
    file = tmp_path / "backups.yaml"
    spec = {
        "features": {"backup": {"destination": {"claim": {}}}},
        "images": {"registry": "mirror.example.org"},
    }
    file.write_text(example_text(**spec))
    rows = json.loads(osctl("images", str(file), "--tags", "-o", "json").stdout)
    image = "mirror.example.org/restic/restic:0.18.1"
    assert {"image": image, "releases": ["features.backup"]} in rows
    rows = json.loads(osctl("images", str(file), "--tags", "--copy", "-o", "json").stdout)
    assert {"source": "docker.io/restic/restic:0.18.1", "target": image} in rows
    rows = json.loads(osctl("images", str(file), "--tags", "-o", "json", "--release", "keystone").stdout)
    assert image not in {row["image"] for row in rows}


def test_images_to_copy_need_a_registry():
    result = osctl("images", str(EXAMPLE), "--tags", "--copy")
    assert result.exit_code == 3
    assert "spec.images.registry: not set" in result.stderr


@pytest.mark.slow
def test_all_tags_are_a_superset_of_what_runs():
    run = {row["image"] for row in json.loads(osctl("images", str(EXAMPLE), "-o", "json").stdout)}
    named = {row["image"] for row in json.loads(osctl("images", str(EXAMPLE), "--tags", "-o", "json").stdout)}
    assert run <= named


# -- charts that cannot be read here


def elsewhere(tmp_path: Path) -> str:
    charts = {"repository": f"file://{tmp_path}/nowhere", "versions": {"mariadb": "1.0.0"}}
    return example_text(charts=charts)


def test_a_region_whose_charts_cannot_be_read_is_neither_valid_nor_wrong(tmp_path: Path):
    result = osctl("validate", "-", input=elsewhere(tmp_path))
    assert result.exit_code == 8
    assert "not compared with the charts" in result.stderr
    data = json.loads(osctl("validate", "-", "-o", "json", input=elsewhere(tmp_path)).stdout)
    assert data["valid"] is False
    assert data["problems"] == []


def test_its_other_mistakes_are_reported_anyway(tmp_path: Path):
    result = osctl("validate", "-", input=elsewhere(tmp_path).replace("size: single", "size: huge"))
    assert result.exit_code == 3


def test_it_cannot_be_rendered_and_the_place_is_named(tmp_path: Path):
    result = osctl("render", "-", input=elsewhere(tmp_path))
    assert result.exit_code == 8
    assert result.stderr.startswith(f"error: directory {tmp_path}/nowhere does not exist here; ")
