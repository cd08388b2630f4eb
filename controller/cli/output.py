"""The output of osctl: tables for people, JSON and YAML for programs, no colour without a TTY.

Results go to stdout, progress and errors to stderr. Rich reads NO_COLOR, TERM and the width of the terminal
itself.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import yaml
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from controller.errors import Problem

# Wide enough that nothing is wrapped without a terminal.
UNBOUNDED = 100_000


# Characters that JSON allows, but that a terminal executes or shows in another order.
_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class Format(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


@dataclass(frozen=True)
class Cell:
    """Text of a table in a style of rich, such as `red`; plain without one."""

    text: str
    style: str = ""


Row = Sequence[Cell | str]


class _Console(Console):
    """A console on which only rich itself moves the cursor or sets colours.

    The printed text comes from a cluster, where others may write, and a terminal would execute escapes in it.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else soft_wrapped(segment.text)
            yield segment if text == segment.text else Segment(text, segment.style)


def stdout() -> Console:
    """The console for results, created at each call so that it follows a redirected sys.stdout."""
    return _console(stderr=False)


def stderr() -> Console:
    """The console for progress and errors."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else UNBOUNDED
    return _Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


def print_data(data: Any, format_: Format) -> None:
    """Prints plain data as JSON or YAML on stdout, without colours, with keys in their own order."""
    if format_ == Format.JSON:
        text = json.dumps(data, indent=2, ensure_ascii=False)
        sys.stdout.write(_UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")
    else:
        sys.stdout.write(yaml_text(data))


def print_documents(documents: Sequence[Any], format_: Format) -> None:
    """Kubernetes objects as kubectl prints several: a YAML stream, or a List in JSON."""
    if format_ == Format.JSON:
        print_data({"apiVersion": "v1", "kind": "List", "items": list(documents)}, Format.JSON)
    else:
        sys.stdout.write("---\n".join(yaml_text(document) for document in documents))


def yaml_text(data: Any) -> str:
    """Block YAML; repeated maps and lists are written out, not as aliases."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: Any, text: str) -> Any:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def print_table(console: Console, headers: Sequence[str], rows: Iterable[Row]) -> None:
    """Columns as kubectl prints them; on a terminal the last column wraps, otherwise nothing wraps."""
    lines = [[_cell(cell) for cell in row] for row in rows]
    if not console.is_terminal:
        _print_plain(console, headers, lines)
        return
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="bold", pad_edge=False)
    for index, header in enumerate(headers):
        last = index == len(headers) - 1
        table.add_column(header, no_wrap=not last, overflow="fold" if last else "ellipsis")
    for line in lines:
        table.add_row(*(Text(cell.text, cell.style) for cell in line))
    console.print(table)


def _print_plain(console: Console, headers: Sequence[str], lines: Sequence[Sequence[Cell]]) -> None:
    texts = [list(headers), *([cell.text for cell in line] for line in lines)]
    widths = [max(len(line[index]) for line in texts) for index in range(len(headers))]
    for line in texts:
        padded = (text.ljust(width + 3) for text, width in zip(line, widths, strict=True))
        console.print("".join(padded).rstrip())


def print_notes(console: Console, notes: Iterable[tuple[str, str]], width: int = 10) -> None:
    """Titles with their texts; on a terminal the lines of a long text stay beside its title."""
    given = [(title, soft_wrapped(text)) for title, text in notes if text]
    if not console.is_terminal:
        for title, text in given:
            console.print(f"{title:<{width}}{text}")
        return
    table = Table.grid(padding=(0, 0, 0, 0))
    table.add_column(style="bold", no_wrap=True, width=width)
    table.add_column(overflow="fold")
    for title, text in given:
        table.add_row(Text(title, "bold"), Text(text))
    console.print(table)


def _cell(cell: Cell | str) -> Cell:
    return cell if isinstance(cell, Cell) else Cell(cell)


ERROR, WARNING = "error", "warning"
_STYLES = {ERROR: "red", WARNING: "yellow"}


def print_problems(problems: Sequence[Problem], word: str = ERROR) -> None:
    """One line for each on stderr: `file:line  error: path: message; remedy`. `word`: ERROR or WARNING."""
    console, style = stderr(), _STYLES[word]
    for problem in problems:
        text = str(problem)
        if problem.path == "$":  # the whole file, which is already named
            text = text.replace("$: ", "", 1)
        place = f"{problem.source}  " if problem.source else ""
        line = Text(soft_wrapped(f"{place}{word}: {text.removeprefix(place)}"))
        line.stylize("bold", 0, len(problem.source))
        line.stylize(f"bold {style}", len(place), len(place) + len(word))
        start = line.plain.find(problem.path, len(place) + len(word))
        if start >= 0 and problem.path != "$":
            line.stylize(style, start, start + len(problem.path))
        console.print(line)


def soft_wrapped(text: str) -> str:
    """The text without characters that would move a terminal's cursor."""
    return "".join(
        char if char.isprintable() or char == "\n" else "\N{REPLACEMENT CHARACTER}" for char in text
    )
