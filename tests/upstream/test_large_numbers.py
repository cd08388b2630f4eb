"""Whole numbers arrive in files as they were written, however large they are.

Helm reads the values that it is given as JSON, in which Go prints a number from 1000000 on as 1e+06.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from controller.cli.exit_codes import ExitCode
from tests.cli.objects import example_text, osctl
from tests.render import production
from tests.render.specs import BACKUP_IN_S3
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
BACKUP = {**BACKUP_IN_S3, "conf": {**BACKUP_IN_S3["conf"], "backup_s3_object_size": LARGE}}
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


def test_what_a_script_would_print_with_an_exponent_is_refused(charts: Path, tmp_path: Path) -> None:
    backup = {"conf": {"backup": {"enabled": True, "days_to_keep": LARGE}}}
    values = {**backup, "manifests": {"cron_job_mariadb_backup": True, "pvc_backup": True}}
    file = tmp_path / "region.yaml"
    more = {"charts": {"repository": f"file://{charts}"}, "storageClass": "standard"}
    file.write_text(example_text(services={"database": {"mariadb": {"values": values}}}, **more))
    result = osctl("validate", str(file))
    assert result.exit_code == ExitCode.INVALID
    assert f"chart mariadb writes {LARGE} as 2.592e+06, which programs cannot read" in result.stderr
    assert f'write it in quotes: "{LARGE}"' in result.stderr


def test_limits_of_volumes_reach_cinders_script_with_all_their_digits(charts: Path) -> None:
    gold = {"consumer": "front-end", "properties": {"total_bytes_sec": 104857600}, "associates": ["ssd"]}
    cinder = {"values": {"bootstrap": {"volume_qos": {"gold": gold}}}}
    spec = {"preset": "compute", "services": {"block-storage": {"cinder": cinder}}}
    release = region(charts, {**spec, "features": {"blockStorage": {"backends": BACKENDS}}}).release("cinder")
    assert release is not None
    text = "\n".join(text for obj in objects(release) for _, text in production.files(obj))
    assert "--property total_bytes_sec=104857600" in text
