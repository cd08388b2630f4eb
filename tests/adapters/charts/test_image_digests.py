"""Which content the tag of an image names now, as its registry says."""

from __future__ import annotations

import hashlib
import json

import pytest

from controller.adapters.charts.image_digests import pinned_image
from controller.errors import ChartNotFound, RepositoryDenied
from tests.chart_repositories.certificates import authority
from tests.chart_repositories.servers import Request, Response, oci_registry, serve

INDEX = json.dumps({"schemaVersion": 2, "manifests": []}).encode()
DIGEST = f"sha256:{hashlib.sha256(INDEX).hexdigest()}"


def registry(request: Request) -> Response:
    if request.path != "/v2/openstack/nova/manifests/2026.1-ubuntu_noble":
        return Response(404)
    lists = "application/vnd.oci.image.index.v1+json" in request.headers["accept"]
    return Response(200, INDEX if lists else b"{}")


def test_a_tag_is_kept_and_the_digest_is_of_all_architectures() -> None:
    with serve(registry) as server:
        image = f"{server.host}/openstack/nova:2026.1-ubuntu_noble"
        assert pinned_image(image, ca=authority().ca) == f"{image}@{DIGEST}"


def test_an_image_by_digest_is_asked_for_nowhere() -> None:
    image = f"registry.invalid/nova@{DIGEST}"
    assert pinned_image(image) == image


def test_a_tag_that_is_not_there_is_reported() -> None:
    with serve(registry) as server, pytest.raises(ChartNotFound, match=r"has no openstack/nova:none"):
        pinned_image(f"{server.host}/openstack/nova:none", ca=authority().ca)


def test_a_registry_that_wants_a_login_is_reported() -> None:
    with serve(oci_registry({}, login="basic")) as server, pytest.raises(RepositoryDenied):
        pinned_image(f"{server.host}/openstack/nova:1", ca=authority().ca)
