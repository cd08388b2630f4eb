"""osctl fields: describes the fields of a spec, as kubectl explain does, without a cluster."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.padding import Padding
from rich.text import Text

from controller.cli.offline.own_kinds import KINDS
from controller.cli.offline.region import offline_renderer
from controller.cli.options import Output
from controller.cli.output import Format, print_data, stdout
from controller.domain.validation.definitions.fields import fields_at
from controller.domain.values.suggestion import suggestion
from controller.errors import Problem, SpecInvalid
from controller.ports.kubernetes import OSDPL


def fields(
    *,
    path: Annotated[
        str,
        typer.Argument(help="Path of a field below spec, such as features.networking.", show_default=False),
    ] = "",
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help=f"One of {', '.join(KINDS)}.")
    ] = OSDPL.kind,
    depth: Annotated[int, typer.Option("--depth", min=0, help="Levels that are shown below the path.")] = 1,
    output: Output = Format.TABLE,
) -> None:
    """Print the fields of a spec with type and description; each description ends with its default and
    what an edit of it restarts.

    In a path, [] stands behind a list, and <key> for a key that is yours to choose.
    """
    if kind not in KINDS:
        raise SpecInvalid([Problem("--kind", f'there is no kind "{kind}"', suggestion(kind, KINDS))])
    spec = offline_renderer().schema_of(kind).root["properties"]["spec"]
    found = fields_at(spec, path, depth)
    if output != Format.TABLE:
        print_data([asdict(one) for one in found], output)
    else:
        console = stdout()
        for one in found:
            console.print(Text.assemble((one.path, "bold"), f"  <{one.type}>"), soft_wrap=True)
            console.print(Padding(Text(one.description), (0, 0, 0, 4), expand=False))
