"""Our chart as an archive of Helm, as an OCI artefact, and its definitions of resources in one file."""

from __future__ import annotations

import gzip
import io
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from sandbox.images.oci import write_artifact

# Helm's own media types (HIP-6).
_CONFIG = "application/vnd.cncf.helm.config.v1+json"
_CONTENT = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"


def packed_chart(chart: Path, epoch: int) -> bytes:
    """The archive of a directory; the same octets for the same files and time."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in _files(chart):
            content = path.read_bytes()
            member = tarfile.TarInfo(f"{chart.name}/{path.relative_to(chart).as_posix()}")
            member.size, member.mtime = len(content), epoch
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), mtime=0)


def _files(chart: Path) -> list[Path]:
    """Chart.yaml first, as Helm packs it, because readers then need not unpack the rest."""
    found = sorted(path for path in chart.rglob("*") if path.is_file())
    return sorted(found, key=lambda path: path != chart / "Chart.yaml")


def write_chart(chart: Path, target: Path, epoch: int) -> str:
    """Writes the archive, the OCI archive and the definitions; returns the digest of the OCI manifest."""
    metadata: dict[str, Any] = yaml.safe_load((chart / "Chart.yaml").read_text(encoding="utf-8"))
    name, version = metadata["name"], metadata["version"]
    archive = packed_chart(chart, epoch)
    (target / f"{name}-{version}.tgz").write_bytes(archive)
    definitions = [path.read_text(encoding="utf-8") for path in sorted((chart / "files/crds").glob("*.yaml"))]
    (target / f"{name}-crds-{version}.yaml").write_text("---\n".join(definitions), encoding="utf-8")
    annotations = {
        "org.opencontainers.image.title": name,
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.description": metadata["description"],
        "org.opencontainers.image.created": datetime.fromtimestamp(epoch, UTC).isoformat(),
    }
    with (target / f"{name}-chart-{version}.oci.tar").open("wb") as stream:
        return write_artifact((_CONFIG, metadata), (_CONTENT, archive), annotations, stream)
