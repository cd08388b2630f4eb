"""osctl convert: files of rockoon."""

from __future__ import annotations

from pathlib import Path

import yaml

from controller.domain.adoption.rockoon import API, KIND
from tests.cli.objects import osctl
from tests.domain.adoption.test_rockoon import PASSWORD, secret_spec, spec


def written(path: Path, **more: object) -> str:
    file = path / "region.yaml"
    obj = {"apiVersion": API, "kind": KIND, "metadata": {"name": "osh-dev"}, "spec": spec(**more)}
    file.write_text(yaml.safe_dump(obj), encoding="utf-8")
    return str(file)


def test_a_converted_region_is_valid(tmp_path: Path):
    given = written(tmp_path, preset="core", features={"neutron": {"tunnel_interface": "bond0"}})
    result = osctl("convert", given)
    assert result.exit_code == 0, result.output
    checked = osctl("validate", "-", input=result.stdout)
    assert checked.exit_code == 0, checked.output


def test_notes_name_the_line_and_the_secret_to_create(tmp_path: Path):
    result = osctl("convert", written(tmp_path, **secret_spec()), "-o", "json")
    assert result.exit_code == 0
    assert "warning: spec.features.stacklight: has no counterpart" in result.stderr
    assert "region.yaml:" in result.stderr
    assert "create: kubectl -n openstack create secret tls api-cert --cert=FILE --key=FILE" in result.stderr
    assert PASSWORD not in result.stdout + result.stderr


def test_other_objects_are_not_converted(tmp_path: Path):
    file = tmp_path / "other.yaml"
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", encoding="utf-8")
    result = osctl("convert", str(file))
    assert result.exit_code == 3
    assert "not converted" in result.stderr


def test_the_repository_of_the_charts_is_given_beside(tmp_path: Path):
    result = osctl("convert", written(tmp_path), "--charts", "https://charts.example.org/osh")
    assert yaml.safe_load(result.stdout)["spec"]["charts"] == {"repository": "https://charts.example.org/osh"}
