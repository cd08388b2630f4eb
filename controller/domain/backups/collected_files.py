"""What a backup has beside the dumps, and the manifest of all of it. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.domain.backups.manifest import (
    BackupFile,
    BackupManifest,
    DatabaseDump,
    NotIncluded,
    manifest_document,
    parse_manifest,
)
from controller.errors import BackupUnusable

NORTHBOUND_FILE = "ovn-northbound.db"
DEPLOYMENT_FILE, BUNDLES_FILE, SECRETS_FILE = "openstackdeployment.json", "helmbundles.json", "secrets.json"
_IMAGES = NotIncluded("images, volumes and disks of servers", "the snapshots of their storage")
_NORTHBOUND = NotIncluded("OVN's northbound database", "neutron-ovn-db-sync-util, from Neutron's database")
# What the API server has written into an object, and would refuse or ignore in a new one.
_SERVERS_OWN = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink")


@dataclass(frozen=True)
class DumpNotes:
    """What the dump has noted. `tables`: lines with a database, a table and its rows."""

    id: str
    started: str
    server_version: str
    gtid: str
    names: tuple[str, ...]
    tables: str


def list_document(objects: Iterable[Mapping[str, Any]]) -> bytes:
    """Objects as a List that `kubectl apply` takes, without what the API server adds."""
    items = [_as_written(one) for one in objects]
    whole = {"apiVersion": "v1", "kind": "List", "items": items}
    return json.dumps(whole, indent=1, sort_keys=True).encode() + b"\n"


def collected_manifest(described: BackupManifest, notes: DumpNotes, files: Sequence[BackupFile]) -> bytes:
    """The document of the manifest. Raises BackupUnusable for notes that do not fit the files, and
    ManifestInvalid for what no manifest may have."""
    sizes = {one.path: one.size for one in files}
    rows = _rows(notes)
    dumps = []
    for name in notes.names:
        path = f"databases/{name}.sql"
        if not sizes.get(path):
            raise BackupUnusable(f"there is no dump of database {name}")
        dumps.append(DatabaseDump(name, path, sizes[path], rows.get(name, {})))
    left = (_IMAGES,) if NORTHBOUND_FILE in sizes else (_IMAGES, _NORTHBOUND)
    whole = BackupManifest(
        id=notes.id,
        namespace=described.namespace,
        region=described.region,
        created=notes.started,
        controller_version=described.controller_version,
        openstack_version=described.openstack_version,
        server_version=notes.server_version,
        gtid=notes.gtid,
        databases=tuple(dumps),
        files=tuple(files),
        not_included=left,
    )
    document = manifest_document(whole)
    parse_manifest(document)
    return document


def expected_rows(manifest: BackupManifest) -> str:
    """The rows of each table, as a drill counts them: sorted lines of database, table and rows."""
    found = [
        f"{one.name}\t{table}\t{rows}\n"
        for one in manifest.databases
        for table, rows in sorted(one.tables.items())
    ]
    return "".join(found)


def listed_databases(manifest: BackupManifest) -> str:
    """Lines with a database and its file."""
    return "".join(f"{one.name} {one.file}\n" for one in manifest.databases)


def _rows(notes: DumpNotes) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for line in notes.tables.splitlines():
        name, table, rows = (*line.split("\t"), "", "")[:3]
        if not rows.isdecimal():
            raise BackupUnusable("the list of tables is damaged")
        found.setdefault(name, {})[table] = int(rows)
    return found


def _as_written(obj: Mapping[str, Any]) -> dict[str, Any]:
    meta = {key: value for key, value in obj["metadata"].items() if key not in _SERVERS_OWN}
    return {**{key: value for key, value in obj.items() if key != "status"}, "metadata": meta}
