"""osctl backup manifest: describes a directory of dumps, so that a RegionRestore can check and load it."""

from __future__ import annotations

import gzip
import shlex
import zlib
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from controller.adapters.system.randomness import SystemRandomness
from controller.cli.cluster import open_cluster
from controller.cli.commands.plan import RegionName
from controller.cli.commands.recovery.backup_files import digest_file, write_file
from controller.cli.options import Context, Kubeconfig, Namespace
from controller.cli.output import stdout
from controller.domain.api.conditions import timestamp
from controller.domain.backups.dump_files import database_of, manifest_of_dumps
from controller.domain.backups.manifest import MANIFEST_FILE, BackupManifest
from controller.domain.shared.plurals import count
from controller.errors import BackupUnusable

Directory = Annotated[
    Path,
    typer.Argument(
        metavar="DIRECTORY",
        help="One dump for each database: DATABASE.sql or DATABASE.sql.gz.",
        exists=True,
        file_okay=False,
        show_default=False,
    ),
]
ServerVersion = Annotated[
    str,
    typer.Option(
        "--server-version",
        metavar="VERSION",
        help="The version of MariaDB that wrote the dumps. A restore into an older one is refused.",
        show_default=False,
    ),
]


# With --skip-comments it is missing; then there is no proof either.
_END, _LONGEST_END = b"-- Dump completed", 256


def manifest(
    directory: Directory,
    *,
    server_version: ServerVersion = "",
    name: RegionName = "",
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Write manifest.json beside the dumps of a region: versions, and size and digest of each file.

    Shows the tags that the snapshot of the directory must have.
    """
    region = open_cluster(kubeconfig, context, namespace).find_region(name)
    runs = str((region.get("status") or {}).get("openstackVersion") or "")
    if not runs:
        raise BackupUnusable("the region does not run yet: its status has no openstackVersion")
    # A name with a dot is a file of a writer that was interrupted.
    found = sorted(directory.rglob("*"))
    files = [path for path in found if path.is_file() and not path.name.startswith(".")]
    dumps = [path.stat().st_mtime for path in files if database_of(path.name)]
    taken = min(dumps, default=0.0)
    place = f"{region['metadata']['namespace']}/{region['metadata']['name']}"
    described = BackupManifest(
        id=f"{datetime.fromtimestamp(taken, UTC):%Y%m%dT%H%M%SZ}-{SystemRandomness().octets(3).hex()}",
        namespace=str(region["metadata"]["namespace"]),
        region=str(region["metadata"]["name"]),
        created=timestamp(taken),
        controller_version=version("openstack-controller"),
        openstack_version=runs,
        server_version=server_version,
    )
    for path in files:
        if database_of(path.name) and not _is_whole(path):
            raise BackupUnusable(
                f"{path} is cut, because the last line of mariadb-dump is missing; dump the database again"
            )
    listed = [
        digest_file(directory, path) for path in files if path.relative_to(directory) != Path(MANIFEST_FILE)
    ]
    write_file(directory / MANIFEST_FILE, manifest_of_dumps(described, listed))
    tags = f"region={place},backup={described.id}"
    stdout().print(
        f"{directory / MANIFEST_FILE}: {count(len(dumps), 'database')} of {place}, OpenStack {runs}"
    )
    stdout().print(f"restic backup --tag {tags} {shlex.quote(str(directory))}", soft_wrap=True)


def _is_whole(path: Path) -> bool:
    """Whether the dump has the last line that mariadb-dump writes, and can be read until there."""
    end = b""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as opened:
            while part := opened.read(1024 * 1024):
                end = (end + part)[-_LONGEST_END:]
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return False
    return _END in end
