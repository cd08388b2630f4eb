"""osctl explain: prints a value of a release, and the layers that set it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from controller.cli.offline.field_causes import causes_of
from controller.cli.offline.input_files import read_objects
from controller.cli.offline.region import offline_renderer
from controller.cli.offline.unset_options import explain_unset
from controller.cli.options import Output
from controller.cli.output import Cell, Format, Row, print_data, print_table, soft_wrapped, stdout
from controller.cli.release_choice import choose
from controller.cli.views.explain import Explanation, SettingStep, explain_path, explain_set, is_empty
from controller.cli.views.unset_options import print_unset
from controller.domain.values.chart_values import Path, format_path, parse_path
from controller.domain.values.values_diff import value_text
from controller.errors import Problem, SpecInvalid

MOST_CAUSES = 3


def explain(
    *,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="File or directory of the region, or - for stdin.")
    ],
    path: Annotated[
        str, typer.Argument(help="Path of a value, such as conf.nova.DEFAULT.debug.", show_default=False)
    ] = "",
    release: Annotated[str, typer.Option("--release", metavar="NAME", help="The release, such as nova.")],
    output: Output = Format.TABLE,
) -> None:
    """Print a value, and every layer that set it with file and line, the winner last; then the values of some
    nodes instead. Without a path: every value that is not the chart's default. With the path of a map: all
    values below it. Of an option that nothing sets: what the chart's template writes, or the default of
    OpenStack's package.
    """
    renderer = offline_renderer()
    region = renderer.render_one(read_objects([file]))
    (chosen,) = choose(region, [release])
    desired = _parsed(path)
    causes = causes_of(renderer, region, chosen.spec.name, desired)
    try:
        found = explain_path(chosen, desired, causes) if path else explain_set(chosen, causes)
    except SpecInvalid:
        # No layer has it: a file of options may have it all the same.
        unset = explain_unset(renderer, region, chosen, desired)
        if not unset:
            raise
        print_unset(unset, desired, output)
        return
    if path and len(found) == 1 and is_empty(found[0]):
        # Charts fill in addresses and logins where values leave them empty.
        unset = explain_unset(renderer, region, chosen, desired)
        if any(one.written for one in unset):
            print_unset(unset, desired, output)
            return
    if output != Format.TABLE:
        print_data([_data(one) for one in found], output)
    elif path and len(found) == 1 and found[0].path == desired:
        print_explanation(stdout(), found[0])
    else:
        print_table(stdout(), ("PATH", "VALUE", "SET BY", "WHERE"), _rows(found))


def _parsed(text: str) -> Path:
    try:
        return tuple(str(part) for part in parse_path(text))
    except ValueError as error:
        raise SpecInvalid([Problem("PATH", str(error), 'write it as conf.nova["a.b"].c')]) from None


def print_explanation(console: Console, explanation: Explanation) -> None:
    """The value in the first line, then a line for each layer, with a mark for the winner, and for each node
    label with another value.
    """
    console.print(Text(value_text(explanation.value, 2000), "bold"))
    steps = explanation.steps
    name = max((len(step.layer) for step in steps), default=0)
    texts = [value_text(step.value, 40) for step in steps]
    width = max(map(len, texts), default=0)
    for index, (step, text) in enumerate(zip(steps, texts, strict=True)):
        wins = index == len(steps) - 1
        line = Text("▸ " if wins else "  ", "green")
        line.append(f"{step.layer.ljust(name)}  {text.rjust(width)}", "bold" if wins else "")
        line.append(f"  {soft_wrapped(_origin(step))}", "cyan")
        console.print(line, soft_wrap=True)
    for one in explanation.on_nodes:
        line = Text(f"  on nodes {one.nodes}  ").append(value_text(one.value, 40), "bold")
        where = "  ".join(part for part in (one.origin, one.place) if part)
        console.print(line.append(f"  {soft_wrapped(where)}", "cyan"), soft_wrap=True)


def _origin(step: SettingStep) -> str:
    """The place to edit: the fields behind a template, otherwise the layer's own place."""
    if step.causes:
        shown = [f"{cause.path}  {cause.place}".rstrip() for cause in step.causes[:MOST_CAUSES]]
        more = len(step.causes) - MOST_CAUSES
        fields = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
        return f"{fields}  by {step.place}"
    field = step.path if step.path.startswith("spec.") else ""
    return "  ".join(part for part in (field, step.place) if part)


def _rows(found: Sequence[Explanation]) -> Iterator[Row]:
    for one in found:
        last = one.steps[-1] if one.steps else SettingStep("", one.value)
        yield (
            format_path(one.path),
            value_text(one.value, 50),
            Cell(one.winner, "" if last.place else "dim"),
            Cell(soft_wrapped(last.causes[0].place if last.causes else last.place), "cyan"),
        )
        for other in one.on_nodes:
            nodes, where = f"  on nodes {other.nodes}", Cell(soft_wrapped(other.place), "cyan")
            yield nodes, value_text(other.value, 50), Cell(other.layer), where


def _data(one: Explanation) -> dict[str, Any]:
    return {
        "release": one.release,
        "path": format_path(one.path),
        "value": _plain(one.value),
        "setBy": one.winner,
        "layers": [
            {
                "layer": step.layer,
                "value": _plain(step.value),
                "path": step.path,
                "place": step.place,
                "causes": [{"path": cause.path, "place": cause.place} for cause in step.causes],
            }
            for step in one.steps
        ],
        "onNodes": [
            {
                "nodes": other.nodes,
                "daemonSet": other.daemonset,
                "value": _plain(other.value),
                "layer": other.layer,
                "path": other.origin,
                "place": other.place,
            }
            for other in one.on_nodes
        ],
    }


def _plain(value: Any) -> Any:
    """The value itself; null if it is deleted or missing."""
    return value if isinstance(value, str | int | float | bool | list | dict) else None
