"""Whether a backup fits a region, from what its files look like. Pure.

The Job of the check prints the digest and the size of each file that it has fetched, and the manifest:
`server VERSION`, `DIGEST SIZE PATH` lines, a line `manifest`, and the manifest; all of it compressed, in
base64.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from dataclasses import dataclass

from controller.domain.backups.manifest import (
    LARGEST_MANIFEST,
    MANIFEST_FILE,
    BackupManifest,
    parse_manifest,
)
from controller.domain.shared.plurals import count
from controller.errors import ManifestInvalid

# Loading needs room for the tables and for the log of their transactions.
ROOM = 2.0
_SEPARATOR = b"\nmanifest\n"
_LARGEST = LARGEST_MANIFEST + 4 * 1024 * 1024


@dataclass(frozen=True)
class FetchedBackup:
    """A backup as the Job has it: its manifest, size and digest of each file, and the version of the region's
    database."""

    manifest: BackupManifest
    files: dict[str, tuple[int, str]]
    server_version: str = ""


@dataclass(frozen=True)
class RegionNow:
    """What a backup must fit. `capacity`: the bytes of the smallest volume of the database, 0 if that is not
    known."""

    namespace: str
    name: str
    openstack_version: str
    capacity: int = 0


def read_fetched(output: str) -> FetchedBackup:
    """Parses what the Job has printed. Raises ManifestInvalid, ValueError for another output."""
    try:
        packed = base64.b64decode(output.strip(), validate=True)
        unpacked = zlib.decompressobj(wbits=31)
        text = unpacked.decompress(packed, _LARGEST)
    except (binascii.Error, ValueError, zlib.error):
        raise ValueError("the Job has not printed a list of files") from None
    if not unpacked.eof:
        raise ValueError("the list of files that the Job printed is incomplete, or too long")
    lines, separator, document = text.partition(_SEPARATOR)
    if not separator:
        raise ValueError(f"the backup has no {MANIFEST_FILE}: it is not complete")
    files, server = {}, ""
    for line in lines.decode(errors="replace").splitlines():
        digest, size, path = (*line.split(" ", 2), "", "")[:3]
        if digest == "server" and not path:
            server = size
        if path and size.isdecimal():
            files[path.removeprefix("./")] = (int(size), digest)
    return FetchedBackup(parse_manifest(document), files, server)


def misfit(backup: FetchedBackup, region: RegionNow, wanted: str) -> str:
    """Why the region cannot be restored from this backup, and the remedy; empty if it can. `wanted`: the id
    that the restore names."""
    found = [*_wrong_place(backup, region, wanted), *_damaged(backup), *_no_room(backup, region)]
    return "; ".join(found)


def _wrong_place(backup: FetchedBackup, region: RegionNow, wanted: str) -> list[str]:
    found, manifest, server = [], backup.manifest, backup.server_version
    if wanted not in ("latest", manifest.id):
        found.append(f"the snapshot has backup {manifest.id}; set this id, or latest")
    if (manifest.namespace, manifest.region) != (region.namespace, region.name):
        other = f"{manifest.namespace}/{manifest.region}"
        found.append(f"the backup is of region {other}; restore it there, or use a backup of this region")
    if manifest.openstack_version != region.openstack_version:
        text = f"the backup has OpenStack {manifest.openstack_version}, and the region runs"
        remedy = "bring the region to the version of the backup first: docs/restore.md"
        found.append(f"{text} {region.openstack_version or 'no version'}; {remedy}")
    if server and _series(manifest.server_version) > _series(server):
        text = f"the backup is of MariaDB {manifest.server_version}, and the region runs"
        found.append(f"{text} {server}; upgrade the database first")
    if not manifest.databases:
        found.append("the backup has no database; use another backup")
    return found


def _damaged(backup: FetchedBackup) -> list[str]:
    wrong = [
        one.path for one in backup.manifest.files if backup.files.get(one.path) != (one.size, one.sha256)
    ]
    if not wrong:
        return []
    names = ", ".join(wrong[:5])
    text = f"{count(len(wrong), 'file')} of the backup are cut, changed or missing: {names}"
    return [f"{text}; use another backup"]


def _no_room(backup: FetchedBackup, region: RegionNow) -> list[str]:
    needed = int(sum(one.size for one in backup.manifest.databases) * ROOM)
    if not region.capacity or needed <= region.capacity:
        return []
    text = f"the databases need {needed} bytes, and the volume of the database has {region.capacity}"
    return [f"{text}; raise spec.features.database.volumeSize first"]


def _series(version: str) -> tuple[int, ...]:
    parts = version.partition("-")[0].split(".")[:2]
    return tuple(int(one) for one in parts if one.isdecimal())


def manifest_problem(error: ManifestInvalid) -> str:
    """The first problems of a manifest, in a sentence."""
    return "; ".join(str(one) for one in error.problems[:3])
