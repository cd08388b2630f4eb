"""Whole numbers arrive in files as they were written, however large they are.

Helm reads the values that it is given as JSON, in which Go prints a number from 1000000 on as 1e+06.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.render import production
from tests.upstream.regions import objects, region, specs

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(600)]

LARGE = 2_592_000
SERVICES = {
    "identity": {"keystone": {"values": {"conf": {"keystone": {"token": {"expiration": LARGE}}}}}},
    "messaging": {"rabbitmq": {"values": {"conf": {"rabbitmq": {"max_message_size": LARGE}}}}},
    "compute": {
        "libvirt": {"values": {"conf": {"qemu": {"max_files": LARGE}}}},
        "nova": {"values": {"conf": {"nova_api_uwsgi": {"uwsgi": {"limit-post": LARGE}}}}},
    },
}
BATCH = {"conf": {"nova": {"DEFAULT": {"reserved_host_memory_mb": LARGE}}}}
NODES = {"role::batch": {"services": {"compute": {"nova": {"compute": {"values": BATCH}}}}}}
BACKUP = {"enabled": True, "driver": "s3", "conf": {"backup_s3_object_size": LARGE}}
BACKENDS = [{"name": "ssd", "type": "ceph", "conf": {"rbd_store_chunk_size": LARGE}}]
WRITTEN = {
    "keystone": [f"expiration = {LARGE}"],
    "rabbitmq": [f"max_message_size = {LARGE}"],
    "libvirt": [f"max_files = {LARGE}"],
    "nova": [f"limit-post = {LARGE}", f"reserved_host_memory_mb = {LARGE}"],
    "cinder": [f"backup_s3_object_size = {LARGE}", f"rbd_store_chunk_size = {LARGE}"],
}


def files(charts: Path, release: str) -> str:
    features = {"blockStorage": {"backup": BACKUP, "backends": BACKENDS}}
    spec: dict[str, Any] = {"preset": "compute", "features": features, "services": SERVICES, "nodes": NODES}
    found = region(charts, spec).release(release)
    assert found is not None
    return "\n".join(text for obj in objects(found) for _, text in production.files(obj))


@pytest.mark.parametrize("release", sorted(WRITTEN))
def test_a_large_number_is_written_with_all_its_digits(charts: Path, release: str) -> None:
    text = files(charts, release)
    assert [line for line in WRITTEN[release] if line not in text] == []
    assert re.findall(r"^.*\de\+\d.*$", text, re.MULTILINE) == []


@pytest.mark.parametrize("name", ["everything", "small"])
def test_what_presets_and_sizes_say_goes_to_helm_as_it_is(charts: Path, name: str) -> None:
    found = region(charts, specs()[name])
    releases = [release for bundle in found.bundles for release in bundle.releases]
    assert [one.spec.name for one in releases if one.spec.values is not one.merged.overlay] == []
