"""osctl backup: the commands of the group."""

from __future__ import annotations

import typer

from controller.cli.commands.recovery.backup_manifest import manifest
from controller.cli.commands.recovery.backup_pods import collect, examine
from controller.cli.commands.recovery.backup_requests import delete, list_backups, now, verify

app = typer.Typer(no_args_is_help=True, help="Backups of a region, as a RegionRestore loads them.")
app.command()(now)
app.command("list")(list_backups)
app.command()(verify)
app.command()(delete)
app.command()(manifest)
# For the pods of backups only.
app.command(hidden=True)(collect)
app.command(hidden=True)(examine)
