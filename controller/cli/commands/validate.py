"""osctl validate: shows every mistake in files, with file and line, before they reach a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from controller.cli.exit_codes import ExitCode
from controller.cli.offline.checks import NOT_COMPARED, Checked, check_all
from controller.cli.offline.input_files import read_objects
from controller.cli.offline.region import offline_renderer
from controller.cli.options import FileArgument, Filenames, Output, Recursive, files_of
from controller.cli.output import Format, count, print_data, print_problems, soft_wrapped, stderr, stdout
from controller.errors import Problem, SpecInvalid


def validate(
    *,
    files: FileArgument = None,
    filenames: Filenames = None,
    recursive: Recursive = False,
    manifests: Annotated[
        bool, typer.Option("--manifests", help="Also render every release: its size, and what it refers to.")
    ] = False,
    output: Output = Format.TABLE,
) -> None:
    """Check files without a cluster: schema, rules, services, values, types, references.

    Values are compared with the charts of the region. Where those cannot be read, that is said, and the
    exit code is 8.
    """
    try:
        items = read_objects(files_of(files, filenames), recursive=recursive)
    except SpecInvalid as error:
        if output == Format.TABLE:
            raise
        _print_data((), error.problems, output)
        raise typer.Exit(ExitCode.INVALID) from None
    renderer = offline_renderer()
    renderer.learn(items)
    checked = check_all(items, renderer, manifests=manifests)
    problems = [problem for one in checked for problem in one.problems]
    if output == Format.TABLE:
        for one in checked:
            print_problems(one.warnings, style="yellow")
            _print_line(one)
        if problems:
            raise SpecInvalid(problems)
    else:
        _print_data(checked, problems, output)
        if problems:
            raise typer.Exit(ExitCode.INVALID)
    if any(one.unread for one in checked):
        raise typer.Exit(ExitCode.FAILED)


def _print_line(one: Checked) -> None:
    if one.problems:
        return
    if not one.checked:
        stderr().print(f"{one.source}  {one.title}: not checked, it is none of ours", style="dim")
        return
    if one.unread:
        stderr().print(
            f"{one.source}  {one.title}: {NOT_COMPARED}: {soft_wrapped(one.unread)}", style="yellow"
        )
        return
    size = ""
    if one.services is not None and one.releases is not None:
        size = f": {count(one.services, 'service')}, {count(one.releases, 'release')}"
    stdout().print(f"{one.source}  {one.title} is valid{size}")


def _print_data(checked: Sequence[Checked], problems: Sequence[Problem], output: Format) -> None:
    found_wrong = bool(problems) or any(one.unread for one in checked)
    data = {
        # Of objects that nobody has looked at, nothing is said.
        "valid": not found_wrong if found_wrong or any(one.checked for one in checked) else None,
        "problems": [asdict(problem) for problem in problems],
        "warnings": [asdict(warning) for one in checked for warning in one.warnings],
        "objects": [
            {
                "object": one.title,
                "source": one.source,
                "checked": one.checked,
                "valid": not one.problems and not one.unread if one.checked else None,
                **({"notCompared": one.unread} if one.unread else {}),
            }
            for one in checked
        ],
    }
    print_data(data, output)
