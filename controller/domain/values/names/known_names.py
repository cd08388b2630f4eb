"""Names of options and rules of policies that no package of OpenStack has: services ignore them silently.

What packages have is recorded (values/charts/option-names.json), by their own lists of options and rules. A
plugin may have more, so nothing is refused for it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from controller.domain.api.spec_rules import effects
from controller.domain.api.spec_rules import options as rules
from controller.domain.api.spec_rules.rule import Finding
from controller.domain.values.chart_values import PATCH, Path, Values, is_map, lookup
from controller.domain.values.layer import Layer
from controller.domain.values.names.chart_options import NO_OPTIONS, ChartOptions
from controller.domain.values.option_files import NO_OPTION_FILES, OptionFiles
from controller.errors import Problem

_EVERY = "every"
_NEAR = 0.8
_RULES: Path = ("conf", "policy")
_REFERENCE = re.compile(r"(?<![\w:])rule:([^\s()]+)")
_AS_WRITTEN = "The service gets it as written."

Sections = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class KnownNames:
    """What packages of the `series` define: `options` by chart and section, `rules` by chart.

    Names are in one text, `name@2025.1,2025.2` where not every series has it; `; ` is between rules, since
    names of Gnocchi's are several words. `kinds` has what values of options have to be, by chart and section,
    as `name=int(0..)@2025.1`; an option that takes any text is not among them. `secrets` are the options that
    the packages call secret. `files` are the files of options that charts write, and `charts` has what these
    make of the names."""

    series: tuple[str, ...] = ()
    options: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    rules: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    secrets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    files: OptionFiles = NO_OPTION_FILES
    charts: Mapping[str, ChartOptions] = field(default_factory=dict)

    def of(self, chart: str, series: str) -> Service:
        """What is known of the service of a chart."""
        return Service(chart, series, self)

    def sections(self, chart: str, series: str) -> Sections:
        """The options of the service of a chart by section; empty where nothing is recorded."""
        return self.words(self.options, chart, series) if chart in self.options else {}

    def kinds_of(self, chart: str, series: str) -> Mapping[str, Mapping[str, str]]:
        """What the values of options of the service of a chart have to be, by section and option."""
        return {
            section: {name: kind for name, _, kind in (word.partition("=") for word in words)}
            for section, words in self.words(self.kinds, chart, series).items()
        }

    def words(self, recorded: Mapping[str, Mapping[str, str]], chart: str, series: str) -> Sections:
        """The words of a chart and those of every one, by section."""
        found: dict[str, frozenset[str]] = {}
        for part in (_EVERY, chart) if series in self.series else ():
            for section, text in recorded.get(part, {}).items():
                found[section] = found.get(section, frozenset()) | _names(text.split(), series)
        return found

    def rules_of(self, chart: str, series: str) -> frozenset[str]:
        """The rules of the service of a chart; empty where nothing is recorded."""
        return _names(self.rules.get(chart, "").split("; "), series) if series in self.series else frozenset()


NO_NAMES = KnownNames()


@dataclass(frozen=True)
class Service:
    """The service of a chart, in a version of OpenStack: what it has is looked up when it is asked for."""

    chart: str
    series: str
    names: KnownNames

    @cached_property
    def sections(self) -> Sections:
        """Its options by section; empty where nothing is known of it."""
        return self.names.sections(self.chart, self.series)

    @cached_property
    def kinds(self) -> Mapping[str, Mapping[str, str]]:
        """What the values of its options have to be, by section and option."""
        return self.names.kinds_of(self.chart, self.series)

    @property
    def files(self) -> OptionFiles:
        """The files of options that charts write."""
        return self.names.files

    @property
    def _options(self) -> ChartOptions:
        return self.names.charts.get(self.chart, NO_OPTIONS)

    def names_plugin(self, section: str) -> bool:
        """Whether the options of a section have the names of plug-ins, each with the one that serves it."""
        return section in self._options.plugin_lists

    def places(self, file: str, section: str) -> tuple[str, ...]:
        """The sections whose options may stand in one: of one that people name, those of a store."""
        at = section if section == "DEFAULT" else section.lower()
        return (at,) if at in self.sections else (at, *self._options.stores.get(file, ()))

    def has_option(self, file: str, section: str, option: str) -> bool:
        """Whether a package has the option."""
        return any(option in self.sections.get(one, ()) for one in self.places(file, section))

    def kind_of(self, file: str, section: str, option: str) -> str:
        """What the value of an option has to be, as `option_types` writes it; nothing where it may be any
        text, or is not known."""
        own = self._options.formats.get(f"{section}.{option}", "")
        places = (self.kinds.get(one, {}) for one in self.places(file, section))
        return own or next((there[option] for there in places if option in there), "")

    @cached_property
    def rules(self) -> frozenset[str]:
        """The rules of its policy; empty where nothing is known of it."""
        return self.names.rules_of(self.chart, self.series)

    def slips(
        self, file: str, section: str, options: Mapping[str, Any], there: Mapping[str, Any]
    ) -> Iterator[tuple[Path, Finding]]:
        """Path below the section of what no package has, and what is wrong; no section that is `there`.

        In a section with a free name, only a near miss of an option counts: a driver may come from another
        package."""
        known = self.sections.get(section if section == "DEFAULT" else section.lower())
        stores = self._options.stores.get(file, ()) if section != "DEFAULT" else ()
        named = known is None and bool(stores)
        if known is None and not named:
            near = "" if there else _nearest(section, self.sections)
            if near:
                facts = {"series": self.series, "section": section, "file": file, "near": near}
                yield (), Finding(rules.SECTION_UNKNOWN, facts)
            return
        known = (known or frozenset()).union(*(self.sections.get(one, ()) for one in stores))
        if self.names_plugin(section):
            known |= _listed({**there, **options}.get(self._options.plugin_lists[section]))
        for name, value in options.items():
            plain = name.replace("-", "_")
            if value is None or name == PATCH or plain in known:
                continue
            if name in there and (named or self._is_read(file, section, name)):
                continue
            near = _nearest(plain, known)
            if near or not named:
                where = f"section {section} of {file}.conf" if section else "a store"
                remedy = self._remedy(plain, near)
                facts = {"series": self.series, "option": name, "where": where, "remedy": remedy}
                yield (name,), Finding(rules.OPTION_UNKNOWN, facts)

    def _is_read(self, file: str, section: str, name: str) -> bool:
        return file in self._options.unrecorded or f"{section}.{name}" in self._options.read

    def _remedy(self, name: str, near: str) -> str:
        others = sorted(section for section, known in self.sections.items() if name in known)
        if len(others) in (1, 2):  # more have what many things are called
            return f"did you mean section {' or '.join(others)}? {_AS_WRITTEN}"
        if near:
            return f'did you mean "{near}"? {_AS_WRITTEN}'
        return "the service ignores it, unless a plugin reads it"


def _listed(value: Any) -> frozenset[str]:
    names = value if isinstance(value, list) else str(value or "").split(",")
    return frozenset(str(name).strip() for name in names)


def unknown_options(layer: Layer, lower: Values, service: Service) -> Iterator[Problem]:
    """Warnings of options that the layer writes into files of the service, and that neither the packages nor
    the values below it have."""
    conf = layer.values.get("conf")
    if conf is None or not is_map(conf) or not service.sections:
        return
    for file, below, content in service.files.of_conf(conf):
        written = lookup(lower, ("conf", *below))
        if not is_map(content) or not is_map(written):
            continue  # the release has no such file
        for section, options in content.items():
            there = written.get(section)
            slips = service.slips(file, section, options, there if is_map(there) else {})
            for at, finding in slips if is_map(options) else ():
                path: Path = ("conf", *below, section, *at)
                yield finding.at(layer.full_path(path), layer.place(path))


def unknown_store_options(options: Mapping[str, Any], service: Service) -> Iterator[tuple[str, Finding]]:
    """Each option of a store that is nearly one that Cinder's packages have, and what is wrong."""
    for (name,), finding in service.slips("backends", "", options, {}):
        yield name, finding


def unknown_rules(
    written: Mapping[str, Any],
    known: frozenset[str],
    all_rules: Iterable[Any],
    who: str,
    below: Collection[str] = (),
) -> Iterator[tuple[str, Finding]]:
    """Each rule of a policy that `who` does not register, and none of `all_rules` asks, or that asks one that
    there is not, and what is wrong. `below` are further rules that there are."""
    if not known:
        return
    defined = {*written, *below}
    asked = {name for rule in all_rules if isinstance(rule, str) for name in _REFERENCE.findall(rule)}
    for name, rule in written.items():
        if not isinstance(rule, str) or name == PATCH:
            continue
        for reference in _REFERENCE.findall(rule):
            if reference not in known and reference not in defined:
                near = _nearest(reference, known | frozenset(defined))
                remedy = f'did you mean "{near}"?' if near else "name a rule of the service, or define it"
                facts = {"service": who, "name": reference, "remedy": remedy}
                yield name, Finding(effects.POLICY_REFERENCE_UNKNOWN, facts)
        if name in known or name in asked:
            continue
        near = _nearest(name, known)
        remedy = f'did you mean "{near}"? {_AS_WRITTEN}' if near else "nothing uses it, unless a plugin does"
        yield name, Finding(rules.POLICY_NAME_UNKNOWN, {"service": who, "name": name, "remedy": remedy})


def unknown_policy_names(layer: Layer, lower: Values, service: Service) -> Iterator[Problem]:
    """Warnings of rules below `conf.policy` of the layer that the service does not register."""
    written, below = lookup(layer.values, _RULES), lookup(lower, _RULES)
    if not is_map(written):
        return
    theirs = below if is_map(below) else {}
    new = {name: rule for name, rule in written.items() if name not in theirs}
    asking = (*written.values(), *theirs.values())
    who = f"{service.chart} of OpenStack {service.series}"
    for name, finding in unknown_rules(new, service.rules, asking, who, theirs):
        path = (*_RULES, name)
        yield finding.at(layer.full_path(path), layer.place(path))


def _nearest(name: str, known: Collection[str]) -> str:
    found = difflib.get_close_matches(name, known, n=1, cutoff=_NEAR)
    return found[0] if found else ""


def _names(words: Iterable[str], series: str) -> frozenset[str]:
    parts = (word.partition("@") for word in words if word)
    return frozenset(name for name, _, versions in parts if not versions or series in versions.split(","))
