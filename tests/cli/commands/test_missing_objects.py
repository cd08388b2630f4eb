"""osctl validate --manifests: what the releases refer to and no one makes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.objects import EXAMPLE, example_text, osctl

FEATURES = {
    "services": {"enabled": ["gateway"]},
    "gateway": {"className": "envoy"},
    "tls": {"public": {"enabled": True, "secretName": "public-tls"}},
}
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: public-tls}\n"
KEYS = "stringData: {tls.crt: certificate, tls.key: key}\n"


def _region(directory: Path, features: Mapping[str, Any] = FEATURES) -> str:
    file = directory / "region.yaml"
    file.write_text(example_text(features=features))
    return str(file)


@pytest.mark.slow
def test_what_an_operator_brings_is_reported_with_the_command_that_makes_it(tmp_path: Path) -> None:
    result = osctl("validate", "--manifests", _region(tmp_path))
    assert result.exit_code == 0
    needed = (
        "spec: Secret public-tls (keys tls.crt, tls.key) is not created by a release, but gateway needs it; "
    )
    assert needed in result.stderr
    assert "create it: kubectl -n openstack create secret tls public-tls --cert=tls.crt" in result.stderr


@pytest.mark.slow
def test_what_is_among_the_files_is_there(tmp_path: Path) -> None:
    region = _region(tmp_path)
    (tmp_path / "secret.yaml").write_text(SECRET + KEYS)
    result = osctl("validate", "--manifests", region, str(tmp_path / "secret.yaml"))
    assert result.exit_code == 0
    assert "Secret public-tls (keys" not in result.stderr


@pytest.mark.slow
def test_an_offer_of_ceph_with_a_name_of_its_own_is_to_be_listed_in_the_charts_values(tmp_path: Path) -> None:
    ceph = {"source": "Secret", "namespace": "storage", "secretName": "cluster"}
    image = {"backends": [{"name": "rbd", "type": "ceph"}]}
    result = osctl("validate", "--manifests", _region(tmp_path, {"ceph": ceph, "image": image}))
    assert "name {name: storage, secrets: [cluster]} in ceph.namespaces" in result.stderr


@pytest.mark.slow
def test_with_the_charts_of_the_image_nothing_is_missing() -> None:
    result = osctl("validate", "--manifests", str(EXAMPLE))
    assert result.exit_code == 0
    assert "is not created by a release" not in result.stderr


@pytest.mark.slow
def test_the_login_of_a_registry_is_to_be_brought_and_how(tmp_path: Path) -> None:
    images = {
        "registry": "registry.example.org:5000/openstack",
        "pullSecrets": ["registry-login"],
        "overrides": {"keystone_api": "other.example.org/keystone:1"},
    }
    file = tmp_path / "region.yaml"
    file.write_text(example_text(images=images))
    result = osctl("validate", "--manifests", str(file))
    assert result.exit_code == 0
    assert "spec: Secret registry-login is not created by a release, but " in result.stderr
    assert (
        "create it: podman login --authfile login.json other.example.org"
        " && podman login --authfile login.json registry.example.org:5000"
        " && kubectl -n openstack create secret generic registry-login --type=kubernetes.io/dockerconfigjson"
        " --from-file=.dockerconfigjson=login.json"
    ) in " ".join(result.stderr.split())
