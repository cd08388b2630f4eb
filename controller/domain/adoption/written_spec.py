"""A region as a file that a person edits: with the reason of each value as a comment. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.adoption.overrides import is_leaf
from controller.domain.values.chart_values import Path
from controller.domain.values.yaml_reader import resolve_scalar

_INDENT = "  "
_MOST_COMMENT = 100
# YAML 1.1 reads more words as booleans than kubectl does.
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off"))


def commented_yaml(document: Mapping[str, Any], notes: Mapping[Path, str]) -> str:
    """The document as YAML; `notes` has the comment of a leaf by its path, and of a map above it."""
    return "".join(f"{line}\n" for line in _lines(document, (), notes))


def _lines(document: Mapping[str, Any], path: Path, notes: Mapping[Path, str]) -> Iterator[str]:
    indent = _INDENT * len(path)
    for key, value in document.items():
        here = (*path, key)
        note = " ".join(notes.get(here, "").split())
        note = note if len(note) <= _MOST_COMMENT else f"{note[: _MOST_COMMENT - 1]}…"
        name = f"{indent}{_plain(key)}:"
        if isinstance(value, Mapping) and not is_leaf(value):
            yield f"{name}  # {note}" if note else name
            yield from _lines(value, here, notes)
        elif isinstance(value, str) and _is_block(value):
            yield f"{name} |{_chomping(value)}" + (f"  # {note}" if note else "")
            yield from (f"{indent}{_INDENT}{line}" if line else "" for line in _block(value))
        else:
            yield f"{name} {_flow(value)}" + (f"  # {note}" if note else "")


def _flow(value: Any) -> str:
    """In one line, as JSON writes it: that is YAML, and leaves no doubt about types."""
    if isinstance(value, str):
        return _plain(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_quoted(str(key))}: {_flow(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return json.dumps(value)


def _plain(text: str) -> str:
    """Without quotes where that is the same text for every reader."""
    simple = text.isascii() and text[:1].isalpha() and all(c.isalnum() or c in "-_./" for c in text)
    if simple and resolve_scalar(text) == text and text.lower() not in _WORDS:
        return text
    return _quoted(text)


def _quoted(text: str) -> str:
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if " " <= char <= "~":
        return char
    number = ord(char)
    if number < 256:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 65536 else f"\\U{number:08x}"


def _is_block(text: str) -> bool:
    """Whether a block shows exactly this text."""
    lines = text.splitlines()
    return (
        "\n" in text.rstrip("\n")
        and text.isascii()
        and not set(text) & set("\r\t\x0b\x0c\x1c\x1d\x1e\x00")
        and all(char.isprintable() or char == "\n" for char in text)
        and not text.startswith((" ", "\n"))
        and not any(line != line.rstrip() for line in lines)
    )


def _chomping(text: str) -> str:
    return "" if text.endswith("\n") and not text.endswith("\n\n") else "+" if text.endswith("\n") else "-"


def _block(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n")
