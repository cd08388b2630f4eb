"""Every kind that the controller defines is known offline."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.cli.objects import osctl

ROOT = Path(__file__).parents[3]
CRDS = sorted((ROOT / "charts" / "openstack-controller" / "files" / "crds").glob("*.yaml"))
KINDS = [yaml.safe_load(path.read_text(encoding="utf-8"))["spec"]["names"]["kind"] for path in CRDS]
RESTORE = """
apiVersion: osctl.dev/v1alpha1
kind: RegionRestore
metadata: {name: after-disk-loss, namespace: openstack}
spec: {region: region-one, backup: latest, from: {secret: backup-repository}}
"""


@pytest.mark.parametrize("kind", KINDS)
def test_its_fields_are_listed(kind: str) -> None:
    result = osctl("fields", "--kind", kind, "--depth", "2")
    assert result.exit_code == 0, result.output
    assert "<" in result.stdout


def test_a_restore_is_validated(tmp_path: Path) -> None:
    file = tmp_path / "restore.yaml"
    file.write_text(RESTORE)
    result = osctl("validate", str(file))
    assert result.exit_code == 0, result.output
    file.write_text(RESTORE.replace("secret:", "secrets:"))
    result = osctl("validate", str(file))
    assert result.exit_code != 0
    assert "spec.from" in " ".join((result.stdout + result.stderr).split())
