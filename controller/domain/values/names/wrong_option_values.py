"""Values of options that the service cannot read as what its packages want: a number, an address, a list.

OpenStack-Helm's charts print what they are given (helm-toolkit, `to_oslo_conf`): a list as one text with
commas, a map as nothing, unless it says `type: multistring` or `type: csv`. oslo.config takes each line for
an option, but one that begins with a space, and reads the text when a service asks for the option. The
service fails then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.api.spec_rules import options as rules
from controller.domain.api.spec_rules.rule import Finding, Rule
from controller.domain.values.chart_values import (
    PATCH,
    Path,
    Values,
    is_map,
    is_secret_ref,
    lookup,
    type_name,
    with_leaf,
)
from controller.domain.values.layer import Layer
from controller.domain.values.names.known_names import Service
from controller.domain.values.names.option_types import SEVERAL, is_certain, parts_of, unmet, words_of
from controller.domain.values.option_files import confs, printed_number
from controller.errors import Problem

_TYPED = ("multistring", "csv")
_LINE_END = re.compile(r"\r\n|\r|\n")
# oslo.config, ConfigOpts.Template.
_REFERENCE = re.compile(r"\$(?:\$|\{([_a-z][._a-z0-9]*)\}|([_a-z][._a-z0-9]*))", re.IGNORECASE)
_WORDS = ("one", "any", "number")


@dataclass(frozen=True)
class WrongValue:
    """A value that a service cannot read. `certain`: with whatever image of that version of OpenStack."""

    problem: Problem
    certain: bool


@dataclass(frozen=True)
class _Fault:
    """What is wrong with a value; the option and its place are added later."""

    rule: Rule
    facts: Mapping[str, object] = field(default_factory=dict)
    certain: bool = True

    def of(self, option: str, where: str) -> Finding:
        return Finding(self.rule, {**self.facts, "option": option, "where": where})


def wrong_values(layer: Layer, lower: Values, service: Service) -> Iterator[WrongValue]:
    """Values of the layer that the service of the chart cannot read in its files. Of options that are not
    known, as those of plugins, only the shape and the lines are looked at."""
    conf = layer.values.get("conf")
    if conf is None or not is_map(conf) or not service.sections:
        return
    for file, below, content in service.files.of_conf(conf):
        there = lookup(lower, ("conf", *below))
        if not is_map(content) or not is_map(there):
            continue  # the release has no such file
        for section, options in content.items():
            if not is_map(options):
                continue
            merged = {name: _merged(value, lookup(there, (section, name))) for name, value in options.items()}
            for name, finding, certain in _wrong(service, file, section, merged):
                path: Path = ("conf", *below, section, name)
                yield WrongValue(finding.at(layer.full_path(path), layer.place(path)), certain)


def _merged(value: Any, there: Any) -> Any:
    """The value with what it leaves as it is below it: of a typed map mostly the type."""
    if not is_map(value) or is_secret_ref(value) or PATCH in value:
        return None if is_map(value) and value.get(PATCH) == "delete" else value
    return {**there, **value} if is_map(there) else value


def wrong_store_values(options: Mapping[str, Any], service: Service) -> Iterator[tuple[str, Finding]]:
    """Each option of a store that Cinder cannot read, and what is wrong."""
    for name, finding, _ in _wrong(service, "backends", "", options):
        yield name, finding


def with_brackets(values: Values, service: Service) -> Values:
    """The values with lists as text in brackets, `[a,b]`, for options that take no others. The very same
    object where there are none."""
    changed = values
    for place, conf in confs(values):
        for file, below, content in service.files.of_conf(conf):
            for section, options in content.items() if is_map(content) else ():
                for name, value in options.items() if is_map(options) else ():
                    items = value.get("values") if is_map(value) and value.get("type") == "csv" else value
                    if not isinstance(items, list):
                        continue
                    if parts_of(service.kind_of(file, section, name.replace("-", "_")))[0] == "brackets":
                        path = (*place, *below, section, name)
                        changed = with_leaf(changed, path, f"[{_printed(items)}]")
    return changed


def _wrong(
    service: Service, file: str, section: str, options: Mapping[str, Any]
) -> Iterator[tuple[str, Finding, bool]]:
    where = f"section {section} of {file}.conf" if section else "a store"
    for name, value in options.items():
        if value is None or name == PATCH or is_secret_ref(value):
            continue
        option = name.replace("-", "_")
        kind = service.kind_of(file, section, option)
        fault = _of_name(name) or _of_shape(kind, value) or _of_texts(kind, value)
        if fault is None and service.has_option(file, section, option):
            fault = _of_references(service, file, section, value)
        if fault is not None:
            yield name, fault.of(name, where), fault.certain


def _of_name(name: str) -> _Fault | None:
    if not name.strip() or name[0] in "#;[ \t" or set(name) & set("=:\r\n"):
        return _Fault(rules.OPTION_NAME_MALFORMED)
    return None


def _of_shape(kind: str, value: Any) -> _Fault | None:
    """What is wrong with a list or map, whatever the option takes."""
    name, about, within = parts_of(kind)
    if is_map(value):
        if not value:
            return _Fault(rules.OPTION_EMPTY_MAP, certain=False)
        if value.get("type") not in _TYPED:
            between = about or ":"
            remedy = (
                f'give one text, as "a{between}1,b{between}2"'
                if "map" in (name, within[:3]) or name == "braces"
                else "give a text, a number, true, false or a list"
            )
            return _Fault(rules.OPTION_MAP, {"remedy": remedy})
        if value["type"] == "multistring" and kind and name != SEVERAL and len(_lines(value)) > 1:
            return _Fault(rules.OPTION_SEVERAL_VALUES, certain=False)
    inner = value.get("values") if is_map(value) else value
    if isinstance(inner, list):
        if any(isinstance(item, list) or (is_map(item)) for item in inner):
            return _Fault(rules.OPTION_NESTED_LIST)
        if not is_map(value) and name == SEVERAL and len(inner) > 1:
            return _Fault(rules.OPTION_LIST_ON_ONE_LINE, certain=False)
        if name in ("list", "brackets") and not (is_map(value) and value["type"] == "multistring"):
            return _of_commas(inner)
    return None


def _of_commas(items: list[Any]) -> _Fault | None:
    if any(isinstance(item, str) and "," in item.strip().rstrip(",") and "{{" not in item for item in items):
        return _Fault(rules.OPTION_COMMA_IN_ITEM, certain=False)
    return None


def _of_texts(kind: str, value: Any) -> _Fault | None:
    name, _, within = parts_of(kind)
    kind = within if name == SEVERAL else kind
    for text in _lines(value):
        if is_template(text):
            continue
        fault = _of_line_breaks(text) or _of_quotes(text) or _of_kind(kind, value, _as_parsed(text))
        if fault:
            return fault
    return None


def is_template(text: str) -> bool:
    """Whether a template of Helm makes it."""
    return "{{" in text


def _of_line_breaks(text: str) -> _Fault | None:
    """Of several lines, each but the first has to begin with a space: else it is an option of its own."""
    lines = _LINE_END.split(text.rstrip())
    if len(lines) > 1 and not all(line.strip() and line[0] in " \t" for line in lines[1:]):
        return _Fault(rules.OPTION_SEVERAL_LINES)
    return None


def _of_quotes(text: str) -> _Fault | None:
    bare = text.strip()
    if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'":
        return _Fault(rules.OPTION_QUOTED, certain=False)
    return None


def _as_parsed(text: str) -> str:
    """The text of an option as oslo.config finds it in the file."""
    first, *further = (line.strip() for line in _LINE_END.split(text.strip()))
    if first and first[0] == first[-1] and first[0] in "\"'":
        first = first[1:-1]
    return "\n".join((first, *further))


def _of_kind(kind: str, value: Any, text: str) -> _Fault | None:
    if not kind or _REFERENCE.search(text.replace("$$", "")):
        return None  # what another option has is not known here
    if isinstance(value, list) and parts_of(kind)[0] == "brackets":
        text = f"[{text}]"  # as it is sent
    if parts_of(kind)[0] == "list" and text.startswith("[") and text.endswith("]"):
        return _Fault(rules.OPTION_LIST_WITH_BRACKETS, certain=False)
    wanted = unmet(kind, text.replace("$$", "$"))
    if not wanted:
        return None
    name, about, _ = parts_of(kind)
    remedy = f"known are {', '.join(words_of(about))}" if name in _WORDS else f"give {wanted}"
    # Charts fill in some that are empty.
    facts = {"wanted": wanted, "got": type_name(value), "remedy": remedy}
    return _Fault(rules.OPTION_TYPE, facts, certain=bool(text) and is_certain(kind))


def _of_references(service: Service, file: str, section: str, value: Any) -> _Fault | None:
    """`$name` stands for the value of another option; where there is none, the service fails."""
    for text in _lines(value):
        for braced, plain in _REFERENCE.findall(text.replace(r"\$", "$$")) if "$" in text else ():
            name = (braced or plain).rstrip(".")
            group, dot, option = name.partition(".")
            if not name or is_template(text) or service.has_option(file, section, name):
                continue
            if service.has_option(file, "DEFAULT", name) or (dot and service.has_option(file, group, option)):
                continue
            facts = {"name": name, "series": service.series}
            return _Fault(rules.OPTION_REFERENCE_UNKNOWN, facts, certain=False)
    return None


def _lines(value: Any) -> list[str]:
    """The texts that the service reads one by one: lines of a typed map, else the one that is printed."""
    if is_map(value):
        values = value.get("values")
        values = values if isinstance(values, list) else [values]
        return (
            [_printed(item) for item in values] if value.get("type") == "multistring" else [_printed(values)]
        )
    return [_printed(value)]


def _printed(value: Any) -> str:
    """As the chart prints it."""
    if isinstance(value, list):
        return ",".join(map(_printed, value))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return printed_number(value)
    return "" if value is None else str(value)
