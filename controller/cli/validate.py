"""osctl validate: tells every mistake in files, with file and line, before they reach a cluster."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import typer

from controller.cli.exit_codes import ExitCode
from controller.cli.input_files import InputObject, read_objects
from controller.cli.offline import OfflineRegion, OfflineRenderer, is_bundle, is_region, offline_renderer
from controller.cli.options import FileArgument, Filenames, Output, Recursive, files_of
from controller.cli.output import Format, count, print_data, print_problems, stderr, stdout
from controller.errors import Problem, SpecInvalid


@dataclass(frozen=True)
class Checked:
    """One object and what was found; `services` and `releases` of a region, None for another kind."""

    title: str
    source: str
    checked: bool
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    services: int | None = None
    releases: int | None = None


def validate(
    *,
    files: FileArgument = None,
    filenames: Filenames = None,
    recursive: Recursive = False,
    output: Output = Format.TABLE,
) -> None:
    """Check files without a cluster: schema, rules, services, values, types, references."""
    try:
        items = read_objects(files_of(files, filenames), recursive=recursive)
    except SpecInvalid as error:
        if output == Format.TABLE:
            raise
        _print_data((), error.problems, output)
        raise typer.Exit(ExitCode.INVALID) from None
    renderer = offline_renderer()
    checked = [check(item, renderer) for item in items]
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


def check(item: InputObject, renderer: OfflineRenderer) -> Checked:
    """What is wrong with one object; objects of other products are not checked."""
    region: OfflineRegion | None = None
    try:
        if is_region(item):
            region = renderer.render(item)
        elif is_bundle(item):
            renderer.check_bundle(item)
        else:
            return Checked(item.title, item.source, checked=False)
    except SpecInvalid as error:
        return Checked(item.title, item.source, checked=True, problems=tuple(error.problems))
    if region is None:
        return Checked(item.title, item.source, checked=True)
    bundles = region.region.bundles
    return Checked(
        item.title,
        item.source,
        checked=True,
        warnings=region.region.warnings,
        services=len(bundles),
        releases=sum(len(bundle.releases) for bundle in bundles),
    )


def _print_line(one: Checked) -> None:
    if one.problems:
        return
    if not one.checked:
        stderr().print(f"{one.source}  {one.title}: not checked, it is none of ours", style="dim")
        return
    size = ""
    if one.services is not None and one.releases is not None:
        size = f": {count(one.services, 'service')}, {count(one.releases, 'release')}"
    stdout().print(f"{one.source}  {one.title} is valid{size}")


def _print_data(
    checked: tuple[Checked, ...] | list[Checked],
    problems: tuple[Problem, ...] | list[Problem],
    output: Format,
) -> None:
    data = {
        "valid": not problems,
        "problems": [asdict(problem) for problem in problems],
        "warnings": [asdict(warning) for one in checked for warning in one.warnings],
        "objects": [
            {"object": one.title, "source": one.source, "checked": one.checked, "valid": not one.problems}
            for one in checked
        ],
    }
    print_data(data, output)
