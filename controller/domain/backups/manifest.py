"""The manifest of a backup: what it contains, of which region, and the digest of each file. Pure.

It is the last file that a backup writes, so that a backup without one is not complete. A restore reads it
first. Anyone who can write to the destination may have changed it: the parser refuses whatever the writer
does not write.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.backups.strict_json import Reader, parse_document
from controller.errors import ManifestInvalid, Problem

FORMAT = "openstack-controller backup"
VERSION = 1
MANIFEST_FILE = "manifest.json"
LARGEST_MANIFEST = 16 * 1024 * 1024

# <UTC time>-<6 hex>
BACKUP_ID = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{6}")
_DNS_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}(/[A-Za-z0-9_][A-Za-z0-9._-]{0,127}){0,3}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
# They are quoted in SQL. MariaDB allows more, and no service of OpenStack needs more.
_SQL_NAME = re.compile(r"[0-9A-Za-z_$.-]{1,64}")
_VERSION_TEXT = re.compile(r"[0-9A-Za-z.+_~:-]{0,100}")
_GTID = re.compile(r"[0-9a-fA-F,:-]{0,1000}")
_TEXT = re.compile(r"[^\x00-\x1f\x7f]{1,500}")
_MOST = 10_000


@dataclass(frozen=True)
class BackupFile:
    """One file; `path` is relative to the manifest, `sha256` in hexadecimal."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class DatabaseDump:
    """One database: `file` is the path of its dump, `tables` the rows of each table in it, `size` the bytes
    of the dump."""

    name: str
    file: str
    size: int
    tables: Mapping[str, int]

    @property
    def rows(self) -> int:
        """Of all tables."""
        return sum(self.tables.values())


@dataclass(frozen=True)
class NotIncluded:
    """Data of the region that the backup does not have; `instead`: what saves them."""

    what: str
    instead: str


@dataclass(frozen=True, kw_only=True)
class BackupManifest:
    """What a backup contains.

    `created`: when the snapshot of the databases was taken (RFC 3339, UTC). `gtid`: the position of the
    database's binary log then, empty without one. `server_version`: of the database's server.
    """

    id: str
    namespace: str
    region: str
    created: str
    controller_version: str
    openstack_version: str
    server_version: str = ""
    gtid: str = ""
    databases: tuple[DatabaseDump, ...] = ()
    files: tuple[BackupFile, ...] = ()
    not_included: tuple[NotIncluded, ...] = ()
    format_version: int = field(default=VERSION)

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(one.size for one in self.files)

    def file(self, path: str) -> BackupFile | None:
        """The file with this path."""
        return next((one for one in self.files if one.path == path), None)


def manifest_document(manifest: BackupManifest) -> bytes:
    """The manifest as JSON: the same bytes for the same content."""
    whole = {
        "format": FORMAT,
        "version": manifest.format_version,
        "id": manifest.id,
        "region": {"namespace": manifest.namespace, "name": manifest.region},
        "created": manifest.created,
        "controllerVersion": manifest.controller_version,
        "openstackVersion": manifest.openstack_version,
        "serverVersion": manifest.server_version,
        "gtid": manifest.gtid,
        "databases": [
            {"name": one.name, "file": one.file, "size": one.size, "tables": dict(sorted(one.tables.items()))}
            for one in manifest.databases
        ],
        "files": [{"path": one.path, "size": one.size, "sha256": one.sha256} for one in manifest.files],
        "notIncluded": [{"what": one.what, "instead": one.instead} for one in manifest.not_included],
    }
    return json.dumps(whole, indent=1, ensure_ascii=True).encode() + b"\n"


def parse_manifest(document: bytes) -> BackupManifest:
    """Parses the output of `manifest_document`. Raises ManifestInvalid with every problem."""
    if len(document) > LARGEST_MANIFEST:
        raise ManifestInvalid([_problem("", "the manifest is larger than any that a backup writes")])
    whole = parse_document(document)
    _check_format(whole)
    top = Reader(whole, "", _FIELDS)
    region = top.map("region", ("namespace", "name"))
    manifest = BackupManifest(
        format_version=VERSION,
        id=top.text("id", BACKUP_ID),
        namespace=region.text("namespace", _DNS_NAME),
        region=region.text("name", _DNS_NAME),
        created=top.text("created", _TIME),
        controller_version=top.text("controllerVersion", _VERSION_TEXT),
        openstack_version=top.text("openstackVersion", _VERSION_TEXT),
        server_version=top.text("serverVersion", _VERSION_TEXT),
        gtid=top.text("gtid", _GTID),
        databases=tuple(map(_database, top.maps("databases", _DATABASE, _MOST))),
        files=tuple(map(_file, top.maps("files", _FILE, _MOST))),
        not_included=tuple(map(_not_included, top.maps("notIncluded", _NOT_INCLUDED, 100))),
    )
    problems = top.problems or _contradictions(manifest)
    if problems:
        raise ManifestInvalid(problems)
    return manifest


_DATABASE = ("name", "file", "size", "tables")
_FILE = ("path", "size", "sha256")
_NOT_INCLUDED = ("what", "instead")
_FIELDS = (
    *("format", "version", "id", "region", "created", "controllerVersion", "openstackVersion"),
    *("serverVersion", "gtid", "databases", "files", "notIncluded"),
)


def _check_format(whole: Mapping[str, Any]) -> None:
    if whole.get("format") != FORMAT:
        raise ManifestInvalid([_problem("format", "the file is not the manifest of a backup")])
    version = whole.get("version")
    if type(version) is not int or version != VERSION:
        text = f"this controller reads only version {VERSION}"
        raise ManifestInvalid([_problem("version", text, "use the controller that made the backup")])


def _database(given: Reader) -> DatabaseDump:
    return DatabaseDump(
        name=given.text("name", _SQL_NAME),
        file=given.text("file", _PATH),
        size=given.number("size"),
        tables=given.numbers("tables", _SQL_NAME, _MOST),
    )


def _file(given: Reader) -> BackupFile:
    return BackupFile(given.text("path", _PATH), given.number("size"), given.text("sha256", _DIGEST))


def _not_included(given: Reader) -> NotIncluded:
    return NotIncluded(given.text("what", _TEXT), given.text("instead", _TEXT))


def _contradictions(manifest: BackupManifest) -> list[Problem]:
    found = []
    sizes = {one.path: one.size for one in manifest.files}
    if len(sizes) != len(manifest.files):
        found.append(_problem("files", "a path is listed twice"))
    if MANIFEST_FILE in sizes:
        found.append(_problem("files", "the manifest lists itself"))
    # Names of databases differ in more than case: MariaDB may store them in lower case.
    if len({one.name.lower() for one in manifest.databases}) != len(manifest.databases):
        found.append(_problem("databases", "a database is listed twice"))
    for index, one in enumerate(manifest.databases):
        if sizes.get(one.file) != one.size:
            found.append(_problem(f"databases[{index}].file", "files does not list it with this size"))
    return found


def _problem(path: str, message: str, remedy: str = "use another backup") -> Problem:
    return Problem(f"{MANIFEST_FILE}:{path}" if path else MANIFEST_FILE, message, remedy)
