"""The manifest of a directory with one dump for each database. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from controller.domain.backups.manifest import (
    MANIFEST_FILE,
    BackupFile,
    BackupManifest,
    DatabaseDump,
    NotIncluded,
    manifest_document,
    parse_manifest,
)
from controller.errors import BackupUnusable

SUFFIXES = (".sql.gz", ".sql")
# The server's own: a restore neither drops nor loads them.
SYSTEM_DATABASES = frozenset({"mysql", "sys", "information_schema", "performance_schema"})
NOT_INCLUDED = (
    NotIncluded("images, volumes and disks of servers", "the snapshots of their storage"),
    NotIncluded("credentials and keys", "osctl credentials backup"),
)


def database_of(path: str) -> str:
    """The database whose dump the file at this path is, by its name; empty if it is none."""
    name = PurePosixPath(path).name
    suffix = next((one for one in SUFFIXES if name.endswith(one)), "")
    return name.removesuffix(suffix) if suffix else ""


def manifest_of_dumps(described: BackupManifest, files: Sequence[BackupFile]) -> bytes:
    """The document of the manifest `described`, with these files and a database for each dump of them.

    The rows of tables are not known, and left out. Raises BackupUnusable if there is no dump, if one is of a
    database of the server itself, or if the parser of manifests would not take the result.
    """
    there = [one for one in files if one.path != MANIFEST_FILE]
    dumps = [DatabaseDump(name, one.path, one.size, {}) for one in there if (name := database_of(one.path))]
    if not dumps:
        raise BackupUnusable("there is no dump: name each file DATABASE.sql or DATABASE.sql.gz")
    for one in dumps:
        if one.name.lower() in SYSTEM_DATABASES:
            raise BackupUnusable(f"{one.file}: the database is the server's own; remove the file")
        if not one.size:
            raise BackupUnusable(f"{one.file} is empty; dump the database again")
    whole = replace(described, databases=tuple(dumps), files=tuple(there), not_included=NOT_INCLUDED)
    document = manifest_document(whole)
    parse_manifest(document)
    return document
