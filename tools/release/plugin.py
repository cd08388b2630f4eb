"""osctl as a plugin of kubectl: an archive with its launcher, and the manifest for krew."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from pathlib import Path
from typing import Any

import yaml

_LAUNCHER = """#!/bin/sh
# Runs osctl as `kubectl osctl`. The program itself comes with the wheel of the release.
if ! command -v osctl >/dev/null 2>&1; then
  echo "osctl is not installed: pipx install openstack_controller-{version}-py3-none-any.whl" >&2
  exit 127
fi
exec osctl "$@"
"""
NAME = "kubectl-osctl"


def write_plugin(source: Path, target: Path, version: str, epoch: int, address: str = "") -> None:
    """Writes both files. `address`: where the files of the release will be, without which the manifest names
    its archive alone, for `kubectl krew install --archive`.
    """
    archive = target / f"{NAME}-{version}.tar.gz"
    archive.write_bytes(_packed(source, version, epoch))
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    uri = f"{address.rstrip('/')}/{archive.name}" if address else archive.name
    manifest = _manifest(version, uri, digest)
    (target / "osctl.krew.yaml").write_text(yaml.safe_dump(manifest, sort_keys=False), encoding="utf-8")


def _packed(source: Path, version: str, epoch: int) -> bytes:
    """The same octets for the same version and time."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        launcher = _LAUNCHER.replace("{version}", version).encode()
        for name, content, mode in (
            (NAME, launcher, 0o755),
            ("LICENSE", (source / "LICENSE").read_bytes(), 0o644),
        ):
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.mode = len(content), epoch, mode
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), mtime=0)


def _manifest(version: str, uri: str, digest: str) -> dict[str, Any]:
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "osctl"},
        "spec": {
            "version": f"v{version}",
            "shortDescription": "Run an OpenStack region on Kubernetes",
            "description": (
                "Shows, plans, applies and maintains regions of the OpenStack Controller.\n"
                "The plugin runs the program osctl, which the caveats say how to install.\n"
            ),
            "caveats": (
                f"Install the program once:\n  pipx install openstack_controller-{version}-py3-none-any.whl\n"
            ),
            "platforms": [
                {
                    "selector": {"matchExpressions": [{"key": "os", "operator": "In", "values": [system]}]},
                    "uri": uri,
                    "sha256": digest,
                    "bin": NAME,
                    "files": [{"from": name, "to": "."} for name in (NAME, "LICENSE")],
                }
                for system in ("linux", "darwin")
            ],
        },
    }
