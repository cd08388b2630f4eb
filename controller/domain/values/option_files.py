"""Which values charts write into files of options, and how secrets and numbers are written there.

In a file of oslo.config `$name` stands for the value of another option, and `$$` for a dollar sign
(oslo.config, "Option Value Interpolation"). A chart writes what it is given, so a secret with a `$` would
become another one, or an option that cannot be read.

Helm reads every number of given values as a float (encoding/json), which Go prints with an exponent from
1000000 on: OpenStack-Helm's templates would write `expiration = 2.592e+06`, which is no whole number to
oslo.config.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from controller.domain.values.chart_values import DocumentPath, Path, Values, is_map

# Files of sections that charts of many services write without a look at types: conventions of helm-toolkit.
_COMMON_SECTIONED = frozenset(("api_audit_map", "audit_map", "ceph", "logging", "mysql", "paste"))
_UWSGI = "_uwsgi"
_BOOTSTRAP = "bootstrap"
# The least number that Go's verb %v prints with an exponent, as a float.
EXPONENT_FROM = 1_000_000
_MEMCACHE_KEY = ("endpoints", "oslo_cache", "auth", "memcache_secret_key")


@dataclass(frozen=True)
class OptionFolder:
    """A key under `conf` with several files of options.

    `options_of` is the file whose options each of them has; empty where each has options of its own name.
    A chart writes the content `as_json` where no file of options is printed from it.
    """

    options_of: str = ""
    as_json: bool = False


@dataclass(frozen=True)
class ChartFiles:
    """The files that one chart writes from keys under `conf`.

    `options` are those that oslo.config reads, `folders` keys with several such files. `sectioned` and
    `flat` are files of other programs, with sections of options and with options alone.
    """

    options: frozenset[str] = frozenset()
    folders: Mapping[str, OptionFolder] = field(default_factory=dict)
    sectioned: frozenset[str] = frozenset()
    flat: frozenset[str] = frozenset()


NO_FILES = ChartFiles()


def parse_chart_files(about: Mapping[str, Any]) -> ChartFiles:
    """The files of a chart, by its part of a service.yaml."""
    others = about.get("otherFiles", {})
    return ChartFiles(
        options=frozenset(about.get("optionFiles", ())),
        folders={
            name: OptionFolder(folder.get("optionsOf", ""), folder.get("writtenAs") == "json")
            for name, folder in about.get("optionFolders", {}).items()
        },
        sectioned=frozenset(others.get("sectioned", ())),
        flat=frozenset(others.get("flat", ())),
    )


@dataclass(frozen=True)
class OptionFiles:
    """The files of all charts of the catalogue, by chart."""

    charts: Mapping[str, ChartFiles] = field(default_factory=dict)

    @cached_property
    def _all(self) -> ChartFiles:
        every = self.charts.values()
        return ChartFiles(
            options=frozenset().union(*(one.options for one in every)),
            folders={name: folder for one in every for name, folder in one.folders.items()},
            sectioned=frozenset().union(*(one.sectioned for one in every)),
            flat=frozenset().union(*(one.flat for one in every)),
        )

    def with_chart(self, chart: str) -> OptionFiles:
        """These files, and where the catalogue does not have the chart, the one of its own name: every chart
        of OpenStack-Helm calls its main file so."""
        if chart in self.charts:
            return self
        return replace(self, charts={**self.charts, chart: ChartFiles(options=frozenset((chart,)))})

    def has(self, path: DocumentPath) -> bool:
        """Whether charts write the value at this path into a file that oslo.config reads. Values for labelled
        nodes have a `conf` of their own, further in."""
        below = _below_conf(path)
        file = below[0] if below else ""
        # File, section and option, some below a folder.
        return len(below) >= 4 if file in self._all.folders else len(below) >= 3 and file in self._all.options

    def option_of(self, path: DocumentPath) -> tuple[str, str, str] | None:
        """File, section and name of the option at the path or above it; None where it is no option."""
        if not self.has(path):
            return None
        below = _below_conf(path)
        folder = self._all.folders.get(str(below[0]))
        file, section, name = map(str, below[1:4] if folder else below[:3])
        return (folder.options_of or file if folder else file), section, name

    def of_conf(self, conf: Mapping[str, Any]) -> Iterator[tuple[str, Path, Any]]:
        """The files of oslo.config below `conf`, with their paths there and their content."""
        for file, content in conf.items():
            folder = self._all.folders.get(file)
            if folder is not None:
                for name, part in content.items() if is_map(content) else ():
                    yield folder.options_of or name, (file, name), part
            elif file in self._all.options:
                yield file, (file,), content

    def takes_one_line(self, path: DocumentPath) -> bool:
        """Whether the value at this path becomes an option in a file of options, of any program, or belongs
        to an account, whose name and password are in addresses as well: of several lines it would be more."""
        account = len(path) in (4, 5) and path[0] == "endpoints" and path[2] == "auth"
        return account or self.has(path) or self._is_printed(path)

    def with_numbers_as_text(self, values: Values) -> Values:
        """The values with whole numbers as text that would get an exponent in a file of options, or in the
        script of a bootstrap; all others as they are. The very same object where there are none."""
        found: Values = self._with_numbers_as_text(values, ())
        return found

    def _with_numbers_as_text(self, value: Any, path: DocumentPath) -> Any:
        kind = value.__class__
        if kind is int:
            printed = path[:1] == (_BOOTSTRAP,) or self._is_printed(path)
            return str(value) if printed and abs(value) >= EXPONENT_FROM else value
        if kind is not dict and kind is not list:
            return value
        parts = value.items() if kind is dict else enumerate(value)
        changed = {
            key: new
            for key, part in parts
            if part.__class__ in (int, dict, list)
            and (new := self._with_numbers_as_text(part, (*path, key))) is not part
        }
        if not changed:
            return value
        return {**value, **changed} if kind is dict else [changed.get(i, one) for i, one in enumerate(value)]

    def _is_printed(self, path: DocumentPath) -> bool:
        """Whether charts print the value at this path into a file."""
        below = _below_conf(path)
        if len(below) < 2:
            return False
        file, every = str(below[0]), self._all
        folder = every.folders.get(file)
        if folder is not None and folder.as_json:
            return False
        sectioned = file in every.sectioned or is_common(file)
        return file in every.flat or (sectioned and len(below) >= 3) or self.has(path)


NO_OPTION_FILES = OptionFiles()


def is_common(key: str) -> bool:
    """Whether charts of any service may write the key under `conf` into a file of sections that oslo.config
    does not read."""
    return key in _COMMON_SECTIONED or key.endswith(_UWSGI)


def confs(values: Values) -> Iterator[tuple[DocumentPath, Mapping[str, Any]]]:
    """The maps `conf` of values, those of labelled nodes too, each with its path."""
    conf = values.get("conf")
    if isinstance(conf, dict):
        yield ("conf",), conf
        yield from _confs_of_nodes(conf.get("overrides"), ("conf", "overrides"))
    yield from _confs_of_nodes(values.get("overrides"), ("overrides",))


def _confs_of_nodes(overrides: Any, path: DocumentPath) -> Iterator[tuple[DocumentPath, Mapping[str, Any]]]:
    for daemonset, about in overrides.items() if isinstance(overrides, dict) else ():
        for kind, found in about.items() if isinstance(about, dict) else ():
            labels = found.items() if isinstance(found, dict) else enumerate(found or ())
            for label, body in labels:
                place: DocumentPath = (*path, daemonset, kind, label)
                if not isinstance(body, dict):
                    continue
                inner = body.get("values") if isinstance(body.get("values"), dict) else body
                place = (*place, "values") if inner is not body else place
                if isinstance(inner, dict) and isinstance(inner.get("conf"), dict):
                    yield (*place, "conf"), inner["conf"]


def _below_conf(path: DocumentPath) -> DocumentPath:
    return path[len(path) - path[::-1].index("conf") :] if "conf" in path else ()


def printed_number(number: float) -> str:
    """A number that is no whole one in YAML, as Go prints it (verb %v)."""
    if number.is_integer() and abs(number) < EXPONENT_FROM:
        return str(int(number))
    if not math.isfinite(number) or 1e-4 <= abs(number) < EXPONENT_FROM:
        return repr(number)
    return next(text for digits in range(18) if float(text := f"{number:.{digits}e}") == number)


def as_option_value(text: str) -> str:
    """The text as oslo.config has to find it in a file to read this text."""
    return text.replace("$", "$$")


def from_option_value(text: str) -> str:
    """The text that `as_option_value` was given."""
    return text.replace("$$", "$")


def is_written_as_it_is(path: DocumentPath) -> bool:
    """Whether OpenStack-Helm writes the value into files as it is, and uses it elsewhere as well: the
    password of a service's account, and the key of what memcached holds. No file has those of `admin` and
    `test`."""
    account = len(path) == 5 and path[:3] == ("endpoints", "identity", "auth") and path[4] == "password"
    return (account and path[3] not in ("admin", "test")) or path == _MEMCACHE_KEY
