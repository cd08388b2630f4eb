"""YAML as kubectl reads it, with the line of every key.

kubectl turns YAML into JSON with Go's YAML 1.1 rules: `y` is true, `0o17` is 15, `1e3` is 1000, dates
stay strings, keys become strings. Beyond that this reader refuses what kubectl lets pass and what hides
mistakes: duplicate keys, tags, and documents that are built to exhaust memory.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import yaml

from controller.domain.values.chart_values import DocumentPath, format_path, type_name
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
_MOST_DIGITS = 4000  # of a whole number: longer ones are beyond 64 bits, and Python refuses to read them
_FLOAT = re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
_MERGE_TAG = "tag:yaml.org,2002:merge"
# What JSON may have within a text and YAML not, or not as it is: halves of a character, and line breaks.
_SURROGATES = re.compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_LONE_SURROGATE = re.compile(r"(?<!\\)((?:\\\\)*)\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_UNSAFE_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
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
    objects = _json_objects(text)
    parts = [(text, 0)] if objects is None else objects
    return tuple(document for part, above in parts for document in _documents(part, source, above))


def _json_objects(text: str) -> list[tuple[str, int]] | None:
    """Each JSON object of a text that is nothing else, as YAML, with the lines above it; else None.

    As kubectl does: a text that begins with a brace is JSON if it can be read as JSON.
    """
    if not text.lstrip().startswith("{"):
        return None
    found: list[tuple[str, int]] = []
    decoder = json.JSONDecoder()
    position = _next_word(text, 0)
    while position < len(text):
        try:
            _, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            return None
        found.append((_json_as_yaml(text[position:end]), text.count("\n", 0, position)))
        position = _next_word(text, end)
    return found


def _next_word(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


def _json_as_yaml(text: str) -> str:
    """The same texts in the escapes of YAML; half a character is the replacement character, as in Go."""
    text = _SURROGATES.sub(_joined, text)
    text = _LONE_SURROGATE.sub(r"\1\\ufffd", text)
    return _UNSAFE_IN_YAML.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _joined(match: re.Match[str]) -> str:
    high, low = int(match[2], 16), int(match[3], 16)
    return f"{match[1]}\\U{0x10000 + (high - 0xD800) * 0x400 + low - 0xDC00:08x}"


def _documents(text: str, source: str, above: int) -> Iterator[YamlDocument]:
    """The documents of a text that has so many lines above it in its file."""
    try:
        events = yaml.parse(text, Loader=yaml.CSafeLoader)
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                builder = _DocumentBuilder(source, above)
                value = builder.build(events)
                if value is not None:
                    yield YamlDocument(value, source, builder.lines)
    except yaml.MarkedYAMLError as error:
        line = above + (error.problem_mark.line + 1 if error.problem_mark else 1)
        raise _refused(source, line, f"not YAML: {error.problem or error.context}", "") from None
    except yaml.YAMLError as error:
        reason = getattr(error, "reason", None) or "unreadable text"
        raise _refused(source, 1, f"not YAML: {reason}", "") from None
    except UnicodeEncodeError:
        raise _refused(source, 1, "not YAML: a lone surrogate character", "") from None


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
    if match and len(match["dec"] or "") <= _MOST_DIGITS:
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

    def __init__(self, source: str, above: int) -> None:
        self.lines: dict[DocumentPath, int] = {}
        self._source = source
        self._first_line = above + 1
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
        line = event.start_mark.line + self._first_line
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
            if self._stack and self._stack[-1].merging:
                parts = done.value if isinstance(done.value, list) else [done.value]
                self._merge(self._stack[-1], parts, line)

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
        path = (*self._stack[-1].path, "<<") if merging else self._add(value, line)
        self._stack.append(_Open(value, path, event.anchor))

    def _scalar(self, event: Any, line: int) -> None:
        self._count(1, line)
        top = self._stack[-1] if self._stack else None
        plain = event.implicit[0] and not event.style
        if top is not None and isinstance(top.value, dict) and top.key is None:
            if event.tag == _MERGE_TAG or (plain and event.value == "<<"):
                top.key, top.merging = "<<", True
            else:
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
        desired = _TAGS.get(event.tag)
        if desired is str:
            return event.value
        if desired in (int, float, bool, type(None)):
            value = resolve_scalar(event.value)
            if isinstance(value, desired) or (desired is float and isinstance(value, int)):
                return value
            raise ValueError(f'"{event.value}" does not match its tag')
        raise ValueError(f"tag {event.tag} is not supported")

    def _key(self, top: _Open, text: str, plain: bool, line: int) -> None:
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
                line, f'key "{key}" occurs twice (first in line {first})', "remove one", top.path
            )
        top.key = key
        self.lines[(*top.path, key)] = line

    def _add(self, value: Any, line: int) -> DocumentPath:
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
        if top.merging:
            self._merge(top, [value], line)
            return top.path
        key, top.key = top.key, None
        top.value[key] = value
        return (*top.path, key)

    def _merge(self, top: _Open, parts: list[Any], line: int) -> None:
        """Ends a `<<`: of several maps the first counts, and what comes after `<<` counts more.

        Before it, kubectl would let the merged key win, and other readers the written one.
        """
        top.key, top.merging = None, False
        for part in reversed(parts):
            if not isinstance(part, dict):
                message = f"<< takes a map, or a list of maps, not {type_name(part)}"
                raise self._refuse(line, message, "name an anchor of a map: <<: *name")
            for key in part:
                if key in top.value:
                    message = f'key "{key}" is written before <<, which also has it'
                    raise self._refuse(line, message, "write << first, or remove one", top.path)
            top.merged.update(part)

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
