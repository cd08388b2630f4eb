"""osctl: runs one OpenStack region on Kubernetes from the command line."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from controller.cli.commands.adoption.adopt import adopt
from controller.cli.commands.adoption.convert import convert
from controller.cli.commands.apply import apply
from controller.cli.commands.charts import charts
from controller.cli.commands.credentials import app as credential_commands
from controller.cli.commands.diff import diff
from controller.cli.commands.explain import explain
from controller.cli.commands.fields import fields
from controller.cli.commands.gather import gather
from controller.cli.commands.images import images
from controller.cli.commands.machines import app as machine_commands
from controller.cli.commands.node import app as node_commands
from controller.cli.commands.overview.events import events
from controller.cli.commands.overview.graph import graph
from controller.cli.commands.overview.logs import logs
from controller.cli.commands.overview.report import report
from controller.cli.commands.plan import approve, plan
from controller.cli.commands.rbac import rbac
from controller.cli.commands.readiness.preflight import preflight
from controller.cli.commands.recovery.backup import app as backup_commands
from controller.cli.commands.recovery.replace_node import replace_node
from controller.cli.commands.recovery.restore import restore
from controller.cli.commands.releases.history import history
from controller.cli.commands.releases.reconcile import reconcile
from controller.cli.commands.releases.rollback import rollback
from controller.cli.commands.releases.suspend import resume, suspend
from controller.cli.commands.render import render
from controller.cli.commands.server import app as server_commands
from controller.cli.commands.smoke import smoke
from controller.cli.commands.status import status
from controller.cli.commands.upgrade.group import app as upgrade_commands
from controller.cli.commands.validate import validate
from controller.cli.commands.wait import wait
from controller.cli.completion import complete_names
from controller.cli.exit_codes import epilog, exit_code
from controller.cli.output import print_problems, soft_wrapped, stderr
from controller.domain.shared.plurals import count
from controller.errors import ControllerError, SpecInvalid


class _Commands(TyperGroup):
    """Turns errors of all commands into messages and exit codes."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        found = super().get_command(ctx, cmd_name)
        return found if found is None or not ctx.resilient_parsing else complete_names(found)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except SpecInvalid as error:
            print_problems(error.problems)
            stderr().print(count(len(error.problems), "error"), style="bold red")
            raise typer.Exit(exit_code(error)) from None
        except ControllerError as error:
            stderr().print(f"error: {soft_wrapped(str(error))}", style="red")
            raise typer.Exit(exit_code(error)) from None


app = typer.Typer(
    name="osctl",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    help="One OpenStack region on Kubernetes, from one OpenStackDeployment.",
    epilog=epilog(),
)


def _print_version(desired: bool) -> None:
    if desired:
        typer.echo(f"osctl {version('openstack-controller')}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Options of osctl itself."""


_REGION = (adopt, apply, plan, approve, status, events, logs, report, graph, wait, smoke, gather, restore)
_FILES = (validate, convert, preflight, render, explain, fields, diff, images, charts, rbac)
_RELEASES = (history, rollback, reconcile, suspend, resume)
for _command in (*_REGION, *_FILES, *_RELEASES):
    app.command()(_command)
app.add_typer(upgrade_commands, name="upgrade")
node_commands.command("replace")(replace_node)
app.add_typer(node_commands, name="node")
app.add_typer(credential_commands, name="credentials")
app.add_typer(backup_commands, name="backup")
app.add_typer(machine_commands, name="machines")
app.add_typer(server_commands, name="server")


def main() -> None:
    """Entry point of the `osctl` command."""
    app()


if __name__ == "__main__":
    main()
