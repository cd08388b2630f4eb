"""osctl backup collect, examine: what pods of a backup and of a drill run with the controller's image."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from controller.cli.cluster import open_cluster
from controller.cli.commands.plan import RegionName
from controller.cli.commands.recovery.backup_files import digest_file, write_file
from controller.cli.options import Context, Kubeconfig, Namespace
from controller.cli.output import stdout
from controller.domain.api.backup_secrets import PASSPHRASE_SECRET
from controller.domain.api.conditions import timestamp
from controller.domain.backups.backup_record import BackupRecord
from controller.domain.backups.backup_spec import parse_backup_spec
from controller.domain.backups.collected_files import (
    BUNDLES_FILE,
    DEPLOYMENT_FILE,
    SECRETS_FILE,
    DumpNotes,
    collected_manifest,
    expected_rows,
    list_document,
    listed_databases,
)
from controller.domain.backups.manifest import (
    LARGEST_MANIFEST,
    MANIFEST_FILE,
    BackupManifest,
    parse_manifest,
)
from controller.domain.credentials.backup import RECORD_TYPE, backup_of
from controller.domain.shared.plurals import count
from controller.errors import BackupUnusable
from controller.ports.kubernetes import SECRET

Work = Annotated[
    Path,
    typer.Argument(
        metavar="DIRECTORY",
        help="The directory that the containers of the pod share.",
        exists=True,
        file_okay=False,
        show_default=False,
    ),
]


def collect(
    directory: Work,
    *,
    name: RegionName = "",
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Write credentials, spec and bundles of the region beside its dumps, and the manifest of all of them."""
    cluster = open_cluster(kubeconfig, context, namespace)
    region = cluster.find_region(name)
    meta, runs = region["metadata"], str((region.get("status") or {}).get("openstackVersion") or "")
    if not runs:
        raise BackupUnusable("the region does not run yet: its status has no openstackVersion")
    top, place = directory / "region", str(meta["namespace"])
    secrets = backup_of(place, "", cluster.kube.list(SECRET, place, fields=f"type!={RECORD_TYPE}"))
    spec = parse_backup_spec(region.get("spec"))
    # It opens the repository that it would lie in.
    key = spec.passphrase if spec is not None else PASSPHRASE_SECRET
    kept = [one.body(place) for one in secrets.secrets if one.name != key]
    write_file(top / SECRETS_FILE, list_document(kept))
    write_file(top / DEPLOYMENT_FILE, list_document([region]))
    write_file(top / BUNDLES_FILE, list_document(cluster.bundles(region)))
    notes = _notes(directory)
    described = BackupManifest(
        id=notes.id,
        namespace=place,
        region=str(meta["name"]),
        created=notes.started,
        controller_version=version("openstack-controller"),
        openstack_version=runs,
    )
    manifest = top / MANIFEST_FILE
    paths = sorted(path for path in top.rglob("*") if path.is_file() and path != manifest)
    files = [digest_file(top, path) for path in paths]
    write_file(manifest, collected_manifest(described, notes, files))
    record = BackupRecord(
        id=notes.id,
        started=notes.started,
        size=sum(one.size for one in files),
        databases=len(notes.names),
        tables=len(notes.tables.splitlines()),
        manifest=digest_file(top, manifest).sha256,
    )
    write_file(directory / "record", record.lines().encode())
    stdout().print(f"backup {notes.id}: {count(len(kept), 'Secret')}, {count(len(notes.names), 'database')}")


def examine(directory: Work, *, name: RegionName = "", namespace: Namespace = "") -> None:
    """Check a fetched backup against its manifest, and write what the scratch database has to contain."""
    found = sorted((directory / "fetched").rglob(MANIFEST_FILE))
    if len(found) != 1:
        raise BackupUnusable(f"the backup has {len(found)} manifests instead of one; use another backup")
    top = found[0].parent
    if found[0].stat().st_size > LARGEST_MANIFEST:
        raise BackupUnusable("the manifest is larger than any that a backup writes; use another backup")
    manifest = parse_manifest(found[0].read_bytes())
    if (manifest.namespace, manifest.region) != (namespace, name):
        other = f"{manifest.namespace}/{manifest.region}"
        raise BackupUnusable(f"the backup is of region {other}; use a backup of this region")
    wrong = [one.path for one in manifest.files if not _is_as_listed(top, one.path, one.size, one.sha256)]
    if wrong:
        text = f"{count(len(wrong), 'file')} of the backup are cut, changed or missing"
        raise BackupUnusable(f"{text}: {', '.join(wrong[:5])}; use another backup")
    if not manifest.databases:
        raise BackupUnusable("the backup has no database; use another backup")
    write_file(directory / "expected", expected_rows(manifest).encode())
    write_file(directory / "databases", listed_databases(manifest).encode())
    record = BackupRecord(
        id=manifest.id,
        size=manifest.size,
        databases=len(manifest.databases),
        tables=sum(len(one.tables) for one in manifest.databases),
    )
    write_file(directory / "record", record.lines().encode())
    stdout().print(f"backup {manifest.id} of {manifest.created} is complete")


def _is_as_listed(top: Path, path: str, size: int, digest: str) -> bool:
    # The parser of manifests lets no path out of the directory, and a link could lead there.
    place = top / path
    if not place.is_file() or place.is_symlink() or not place.resolve().is_relative_to(top.resolve()):
        return False
    found = digest_file(top, place)
    return (found.size, found.sha256) == (size, digest)


def _notes(directory: Path) -> DumpNotes:
    texts = {}
    for name in ("id", "started", "version", "gtid", "names", "tables"):
        try:
            texts[name] = (directory / name).read_text(encoding="utf-8")
        except (OSError, ValueError):
            raise BackupUnusable(f"{directory / name} cannot be read: the dump has not ended") from None
    return DumpNotes(
        id=texts["id"].strip(),
        started=texts["started"].strip() or timestamp(0),
        server_version=texts["version"].strip(),
        gtid=texts["gtid"].strip(),
        names=tuple(texts["names"].split()),
        tables=texts["tables"],
    )
