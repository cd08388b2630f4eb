"""Options that several commands share, named as kubectl names them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from controller.cli.output import Format
from controller.domain.shared.durations import parse_duration

Namespace = Annotated[
    str,
    typer.Option(
        "--namespace", "-n", metavar="NAMESPACE", help="Namespace of the region.", show_default=False
    ),
]
Region = Annotated[
    str,
    typer.Option(
        "--region",
        metavar="[NAMESPACE/]NAME",
        help="The region, if the cluster has several.",
        show_default=False,
    ),
]
Kubeconfig = Annotated[
    Path | None,
    typer.Option(
        "--kubeconfig", metavar="FILE", help="Kubeconfig to use [default: $KUBECONFIG, ~/.kube/config]."
    ),
]
Context = Annotated[
    str,
    typer.Option("--context", metavar="NAME", help="Context of the kubeconfig.", show_default=False),
]
Output = Annotated[Format, typer.Option("--output", "-o", help="Output format.")]
Filenames = Annotated[
    list[str] | None,
    typer.Option(
        "--filename",
        "-f",
        metavar="FILE",
        help="File, directory, or - for stdin; may be repeated.",
        show_default=False,
    ),
]
Recursive = Annotated[bool, typer.Option("--recursive", "-R", help="Also read subdirectories.")]
FileArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FILE]...", help="Files, directories, or - for stdin.", show_default=False),
]
Releases = Annotated[
    list[str] | None,
    typer.Option("--release", metavar="NAME", help="Only this release; may be repeated.", show_default=False),
]


def files_of(arguments: list[str] | None, options: list[str] | None) -> list[str]:
    """The files named with and without -f. Raises UsageError if there is none."""
    names = [*(arguments or ()), *(options or ())]
    if not names:
        raise typer.BadParameter("name a file, a directory, or - for stdin", param_hint="FILE")
    return names


DEFAULT_TIMEOUT = 1800.0


def parse_wait(given: str | float) -> float:
    """Seconds of `90s`, `1h30m` or `90`. Raises BadParameter on anything else."""
    if isinstance(given, float | int):
        return float(given)
    try:
        return float(parse_duration(given))
    except ValueError:
        pass
    if not given.isascii() or not given.isdigit() or len(given) > 9:
        raise typer.BadParameter(f'"{given}" is no duration: write 90s, 20m or 1h30m')
    return float(given)


Timeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="DURATION",
        parser=parse_wait,
        show_default="30m",
        help="How long to wait, such as 90s, 20m or 1h30m.",
    ),
]
