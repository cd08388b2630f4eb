"""The commands of osctl upgrade."""

from __future__ import annotations

import typer

from controller.cli.commands.upgrade.actions import abort, continue_, pause, resume, start
from controller.cli.commands.upgrade.check import check
from controller.cli.commands.upgrade.plan import plan
from controller.cli.commands.upgrade.status import status

app = typer.Typer(no_args_is_help=True, help="The upgrade to another version of OpenStack, step by step.")
for _command in (plan, check, start, status, pause, resume):
    app.command()(_command)
app.command("continue")(continue_)
app.command()(abort)
