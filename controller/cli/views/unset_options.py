"""View of options that no layer sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from controller.cli.output import Cell, Format, Row, print_data, print_table, soft_wrapped, stdout
from controller.domain.values.chart_values import Path, format_path
from controller.domain.values.values_diff import value_text

NOT_SET = "not set"
TEMPLATE = "chart's template"
_NO_DEFAULT = "the option has no default"


@dataclass(frozen=True)
class WrittenOption:
    """An option as a rendered file has it; `file` is `Kind NAME, FILE`."""

    value: str
    file: str


@dataclass(frozen=True)
class UnsetOption:
    """An option without a value in any layer. `written`: by the chart's template. `default`: None for none;
    `known`: whether the packages have the option, so that its default is known.
    """

    path: Path
    service: str
    written: tuple[WrittenOption, ...] = ()
    default: str | None = None
    known: bool = False


def print_unset(found: Sequence[UnsetOption], path: Path, output: Format) -> None:
    """One option with what holds instead of a value, or a table of the options of a section."""
    if output != Format.TABLE:
        print_data([_data(one) for one in found], output)
    elif len(found) == 1 and found[0].path == path:
        _print_one(stdout(), found[0])
    else:
        print_table(stdout(), ("PATH", "VALUE", "SET BY", "WHERE"), [_row(one) for one in found])


def _print_one(console: Console, one: UnsetOption) -> None:
    console.print(Text(_texts(one)[0] if one.written else NOT_SET, "bold"))
    print_written(console, one.written)
    console.print(Text(f"  default of {one.service}  ").append(_default(one), "bold"), soft_wrap=True)


def print_written(console: Console, written: Sequence[WrittenOption]) -> None:
    """A line for each value that the chart's template writes, with its place."""
    for one in written:
        line = Text("▸ ", "green").append(f"{TEMPLATE}  {_shown(one.value)}", "bold")
        console.print(line.append(f"  in {soft_wrapped(one.file)}", "cyan"), soft_wrap=True)


def _texts(one: UnsetOption) -> list[str]:
    return [_shown(written.value) for written in one.written]


def _shown(text: str) -> str:
    return value_text(text, 200)


def _default(one: UnsetOption) -> str:
    if not one.known:
        return "not known"
    return _NO_DEFAULT if one.default is None else _shown(one.default)


def _row(one: UnsetOption) -> Row:
    return format_path(one.path), NOT_SET, Cell(f"default of {one.service}", "dim"), _default(one)


def _data(one: UnsetOption) -> dict[str, Any]:
    return {
        "path": format_path(one.path),
        "value": one.written[0].value if one.written else None,
        "setBy": TEMPLATE if one.written else "",
        "layers": [],
        "onNodes": [],
        "written": [{"value": written.value, "place": written.file} for written in one.written],
        "default": {"of": one.service, "known": one.known, "value": one.default},
    }
