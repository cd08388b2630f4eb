"""osctl credentials: the credentials of a region."""

from __future__ import annotations

import typer

from controller.cli.commands.credentials_backup import backup, restore

app = typer.Typer(no_args_is_help=True, help="The credentials of a region: their backup.")
for _command in (backup, restore):
    app.command()(_command)
