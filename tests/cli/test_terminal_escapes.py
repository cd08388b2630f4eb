"""Nothing that someone wrote into the cluster gives orders to the terminal of whoever looks at it."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest
import yaml
from rich.table import Table
from rich.text import Text

from controller.cli.output import Cell, Format, print_data, print_table, stdout
from controller.cli.views.node import node_rows

# To clear the screen, set its title, begin a link, colour (C1), go back, turn the order of letters.
HOSTILE = "\x1b[2J\x1b]0;owned\x07\x1b]8;;http://x\x1b\\\x9b31m\rok\b\u202e\u2066"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def printed(monkeypatch: pytest.MonkeyPatch, terminal: bool, show: Any) -> str:
    screen = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    show(stdout())
    return screen.getvalue()


SHOWN = {
    "a cell": lambda console: print_table(console, ("A", "B"), [("x", HOSTILE), (Cell(HOSTILE, "red"), "y")]),
    "a line": lambda console: console.print(HOSTILE),
    "a text": lambda console: console.print(Text(HOSTILE, "bold")),
    "a header": lambda console: console.print(Table(HOSTILE)),
    "a node": lambda console: print_table(
        console, ("N", "S", "C", "S", "M", "R"), node_rows({HOSTILE: {"state": HOSTILE, "reason": HOSTILE}})
    ),
}


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("what", SHOWN)
def test_escapes_are_shown_and_not_sent(monkeypatch: pytest.MonkeyPatch, what: str, terminal: bool) -> None:
    text = printed(monkeypatch, terminal, SHOWN[what])
    assert "\ufffd[2J" in text
    for order in ("\x1b[2J", "\x1b]", "\x9b", "\x07", "\r", "\b", "\u202e", "\u2066"):
        assert order not in text


def test_colours_of_our_own_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed(monkeypatch, True, lambda console: console.print(Text("fine", "green")))
    assert "\x1b[32mfine\x1b[0m" in text


@pytest.mark.parametrize(("format_", "read"), [(Format.JSON, json.loads), (Format.YAML, yaml.safe_load)])
def test_data_has_them_in_the_escapes_of_its_format(
    monkeypatch: pytest.MonkeyPatch, format_: Format, read: Any
) -> None:
    data = {"message": f"{HOSTILE} ü", "lines": f"a\n{HOSTILE}\n"}
    text = printed(monkeypatch, True, lambda console: print_data(data, format_))
    for order in ("\x1b", "\x9b", "\x07", "\r", "\b"):
        assert order not in text
    assert read(text) == data and "ü" in text
