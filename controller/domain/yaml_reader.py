"""YAML as kubectl reads it, with the line of every key.

kubectl turns YAML into JSON with Go's YAML 1.1 rules: `y` is true, `0o17` is 15, `1e3` is 1000, dates
stay strings, keys become strings. Beyond that this reader refuses what kubectl lets pass and what hides
mistakes: duplicate keys, tags, and documents that are built to exhaust memory.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import yaml

from controller.domain.values import DocumentPath, format_path
from controller.errors import Problem, SpecInvalid

MAX_CHARACTERS = 4_000_000
MAX_DEPTH = 100
MAX_NODES = 300_000

_TRUE = frozenset(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"))
_FALSE = frozenset(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"))
_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_NOT_JSON = frozenset(
    (".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF")
)
_INTEGER = re.compile(
    r"^(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)|0[oO]?(?P<oct>[0-7]+)|(?P<dec>[0-9]+))$"
)
_FLOAT = re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
_TAGS = {
    "tag:yaml.org,2002:str": str,
    "tag:yaml.org,2002:int": int,
    "tag:yaml.org,2002:float": float,
    "tag:yaml.org,2002:bool": bool,
    "tag:yaml.org,2002:null": type(None),
    "tag:yaml.org,2002:map": dict,
    "tag:yaml.org,2002:seq": list,
}


@dataclass(frozen=True)
class YamlDocument:
    """One document. `lines` has the line (from 1) of every key and list item, by path."""

    value: Any
    source: str
    lines: Mapping[DocumentPath, int]


def read_documents(text: str, source: str) -> tuple[YamlDocument, ...]:
    """All documents of the text that are not empty; `source` names the text in messages.

    Raises SpecInvalid with `source:line` for text that is no YAML, or is refused.
    """
    if len(text) > MAX_CHARACTERS:
        raise _refused(source, 1, f"larger than {MAX_CHARACTERS} characters", "split the file")
    documents: list[YamlDocument] = []
    try:
        events = yaml.parse(text, Loader=yaml.CSafeLoader)
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                builder = _DocumentBuilder(source)
                value = builder.build(events)
                if value is not None:
                    documents.append(YamlDocument(value, source, builder.lines))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise _refused(source, line, f"not YAML: {error.problem or error.context}", "") from None
    except yaml.YAMLError as error:
        reason = getattr(error, "reason", None) or "unreadable text"
        raise _refused(source, 1, f"not YAML: {reason}", "") from None
    except UnicodeEncodeError:
        raise _refused(source, 1, "not YAML: a lone surrogate character", "") from None
    return tuple(documents)


def resolve_scalar(text: str) -> Any:
    """What kubectl makes of a plain scalar. Raises ValueError for what JSON cannot hold."""
    value = _resolve_plain(text)
    return _json_number(value) if isinstance(value, float) else value


def _resolve_plain(text: str) -> Any:
    if text in _NULL:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    if text in _NOT_JSON:
        raise ValueError("infinity and not-a-number cannot be sent to Kubernetes")
    if text[0] in "+-.0123456789":
        return _resolve_number(text)
    return text


def _resolve_number(text: str) -> Any:
    plain = text.replace("_", "")
    match = _INTEGER.match(plain)
    if match:
        number = int(match["hex"] or match["bin"] or match["oct"] or match["dec"], _base(match))
        number = -number if match["sign"] == "-" else number
        if -(2**63) <= number < 2**63:
            return number
    if _FLOAT.match(plain):
        fraction = float(plain)
        return text if math.isinf(fraction) else fraction
    return text


def _base(match: re.Match[str]) -> int:
    return 16 if match["hex"] else 2 if match["bin"] else 8 if match["oct"] else 10


def _json_number(number: float) -> Any:
    """JSON as Go writes it does not tell 4.0 from 4: the API server then stores an integer."""
    if number.is_integer() and abs(number) < 2**63:
        return int(number)
    return number


def _refused(source: str, line: int, message: str, remedy: str, path: DocumentPath = ()) -> SpecInvalid:
    return SpecInvalid([Problem(format_path(path) or "$", message, remedy, f"{source}:{line}")])


@dataclass
class _Open:
    """A map or list that is being read. `key` is the pending key of a map."""

    value: Any
    path: DocumentPath
    anchor: str | None
    key: str | None = None
    merging: bool = False
    merged: dict[str, Any] = field(default_factory=dict)


class _DocumentBuilder:
    """Builds one document from parser events without recursion, within bounds."""

    def __init__(self, source: str) -> None:
        self.lines: dict[DocumentPath, int] = {}
        self._source = source
        self._anchors: dict[str, Any] = {}
        self._sizes: dict[int, int] = {}
        self._nodes = 0
        self._stack: list[_Open] = []
        self._root: Any = None

    def build(self, events: Iterator[Any]) -> Any:
        for event in events:
            if isinstance(event, yaml.DocumentEndEvent):
                break
            self._take(event)
        return self._root

    def _take(self, event: Any) -> None:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event, line)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise self._refuse(line, f"alias *{event.anchor} has no anchor before it", "")
            value = self._anchors[event.anchor]
            self._count(_size(value), line)
            self._add(value, line)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._begin(event, line)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            done = self._stack.pop()
            if isinstance(done.value, dict):
                done.value.update({k: v for k, v in done.merged.items() if k not in done.value})
            if done.anchor:
                self._anchors[done.anchor] = done.value

    def _begin(self, event: Any, line: int) -> None:
        if len(self._stack) >= MAX_DEPTH:
            top = self._stack[-1].path[:5]
            raise self._refuse(line, f"nested deeper than {MAX_DEPTH} levels", "", top)
        if event.tag is not None and not event.implicit and _TAGS.get(event.tag) not in (dict, list):
            raise self._refuse(line, f"tag {event.tag} is not supported", "write the plain value")
        self._count(1, line)
        value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        if self._stack and isinstance(self._stack[-1].value, dict) and self._stack[-1].key is None:
            raise self._refuse(line, "a map or list cannot be a key", "")
        merging = bool(self._stack) and self._stack[-1].merging
        path = self._add(value, line, defer=merging)
        self._stack.append(_Open(value, path, event.anchor))
        if merging:
            raise self._refuse(line, "<< takes an alias (or several in a list)", "name an anchor: <<: *name")

    def _scalar(self, event: Any, line: int) -> None:
        self._count(1, line)
        top = self._stack[-1] if self._stack else None
        plain = event.implicit[0] and not event.style
        if top is not None and isinstance(top.value, dict) and top.key is None:
            self._key(top, event.value, plain, line)
            return
        try:
            value = self._scalar_value(event, plain)
        except ValueError as error:
            raise self._refuse(line, str(error), "quote it to make it a string") from None
        if event.anchor:
            self._anchors[event.anchor] = value
        self._add(value, line)

    def _scalar_value(self, event: Any, plain: bool) -> Any:
        if event.tag in (None, "!") or plain:
            return resolve_scalar(event.value) if plain else event.value
        wanted = _TAGS.get(event.tag)
        if wanted is str:
            return event.value
        if wanted in (int, float, bool, type(None)):
            value = resolve_scalar(event.value)
            if isinstance(value, wanted) or (wanted is float and isinstance(value, int)):
                return value
            raise ValueError(f'"{event.value}" is not what its tag says')
        raise ValueError(f"tag {event.tag} is not supported")

    def _key(self, top: _Open, text: str, plain: bool, line: int) -> None:
        if plain and text == "<<":
            top.key, top.merging = "<<", True
            return
        try:
            resolved = _resolve_plain(text) if plain else text
        except ValueError as error:
            raise self._refuse(line, str(error), "quote the key") from None
        if resolved is None:
            raise self._refuse(line, "null cannot be a key", "quote the key")
        key = _key_text(resolved)
        if key in top.value:
            first = self.lines.get((*top.path, key), 0)
            raise self._refuse(
                line, f'key "{key}" is there twice (first in line {first})', "remove one", top.path
            )
        top.key = key
        self.lines[(*top.path, key)] = line

    def _add(self, value: Any, line: int, *, defer: bool = False) -> DocumentPath:
        if not self._stack:
            self._root = value
            return ()
        top = self._stack[-1]
        if isinstance(top.value, list):
            path = (*top.path, len(top.value))
            self.lines[path] = line
            top.value.append(value)
            return path
        if top.key is None:
            if not isinstance(value, str):
                raise self._refuse(line, "a map or list cannot be a key", "")
            self._key(top, value, False, line)
            return top.path
        key, top.key = top.key, None
        if top.merging:
            top.merging = False
            if not defer:
                self._merge_key(top, value, line)
            return (*top.path, key)
        top.value[key] = value
        return (*top.path, key)

    def _merge_key(self, top: _Open, value: Any, line: int) -> None:
        if not isinstance(value, dict):
            raise self._refuse(line, "<< needs an alias of a map", "name an anchor of a map: <<: *name")
        top.merged.update(value)

    def _count(self, nodes: int, line: int) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise self._refuse(
                line, f"more than {MAX_NODES} values (aliases counted)", "write a smaller file"
            )

    def _refuse(self, line: int, message: str, remedy: str, path: DocumentPath | None = None) -> SpecInvalid:
        at = path if path is not None else (self._stack[-1].path if self._stack else ())
        return _refused(self._source, line, message, remedy, at)


def _size(value: Any) -> int:
    """Number of nodes of a value; aliases inside it were counted when they were met, and count again."""
    total, pending = 0, [value]
    while pending:
        item = pending.pop()
        total += 1
        if total > MAX_NODES:
            return total
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
    return total


def _key_text(resolved: Any) -> str:
    if isinstance(resolved, bool):
        return "true" if resolved else "false"
    return _float_text(resolved) if isinstance(resolved, float) else str(resolved)


def _float_text(number: float) -> str:
    """A fraction as kubectl writes it when it is a key: Go's strconv.FormatFloat with 'g', -1 and 32 bits.

    That is the shortest text that gives the same single-precision number, with an exponent below -4 and
    from 6 on; what single precision cannot hold is infinite (sigs.k8s.io/yaml, convertToJSONableObject).
    """
    try:
        single = _as_single(number)
    except OverflowError:
        return "-.inf" if number < 0 else ".inf"
    shortest = next(
        text for digits in range(9) if _as_single(float(text := f"{single:.{digits}e}")) == single
    )
    mantissa, _, exponent_text = shortest.partition("e")
    exponent = int(exponent_text)
    if -4 <= exponent < 6:
        return f"{Decimal(shortest):f}" if exponent < 0 or "." in mantissa else f"{single:.0f}"
    return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _as_single(number: float) -> float:
    """The nearest single-precision number. Raises OverflowError for what is beyond its range."""
    single: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return single
