"""Keys of encrypted volumes lie in Barbican: who needs one asks the region's own Keystone for it."""

from __future__ import annotations

import configparser
from pathlib import Path

import pytest

from tests.render import production
from tests.upstream.regions import objects, region

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(600)]


def section(charts: Path, release: str, file: str, preset: str) -> dict[str, str]:
    found = region(charts, {"preset": preset, "size": "small"}).release(release)
    assert found is not None
    parser = configparser.RawConfigParser(strict=False)
    [text] = {text for obj in objects(found) for name, text in production.files(obj) if name == file}
    parser.read_string(text)
    return {**parser["barbican"], **parser["key_manager"]} if parser.has_section("barbican") else {}


@pytest.mark.parametrize(
    ("release", "file"),
    [("nova", "nova.conf"), ("cinder", "cinder.conf"), ("glance", "glance-api.conf")],
)
def test_nova_cinder_and_glance_find_barbican_by_the_internal_keystone(
    charts: Path, release: str, file: str
) -> None:
    found = section(charts, release, file, "compute")
    assert found["auth_endpoint"] == "http://keystone-api.openstack.svc.cluster.local:5000/v3"
    assert (found["backend"], found["barbican_endpoint_type"]) == ("barbican", "internal")


def test_without_barbican_no_service_asks_it(charts: Path) -> None:
    assert section(charts, "nova", "nova.conf", "core") == {}
