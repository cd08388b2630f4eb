"""What a chart, and not a package, makes of the names of options. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ChartOptions:
    """Names of options of one chart that its packages do not list.

    `stores` has, by file, the sections of packages whose options stand in sections that people name.
    `plugin_lists` has sections with an option for each plug-in, and the option beside them that lists those.
    `read` are options that no package lists and something reads all the same, as `section.option`, with
    where that is. `formats` are kinds of options, as `option_types` writes them, that the packages call texts
    and their services read themselves, when they start. `packages` are those of PyPI that define the options;
    `unrecorded` are files of programs whose packages are not asked.
    """

    stores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    plugin_lists: Mapping[str, str] = field(default_factory=dict)
    read: Mapping[str, str] = field(default_factory=dict)
    formats: Mapping[str, str] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    unrecorded: frozenset[str] = frozenset()


NO_OPTIONS = ChartOptions()


def parse_chart_options(about: Mapping[str, Any]) -> ChartOptions:
    """The `optionNames` of a chart in a service.yaml."""
    return ChartOptions(
        stores={file: tuple(sections) for file, sections in about.get("stores", {}).items()},
        plugin_lists=dict(about.get("pluginLists", {})),
        read=dict(about.get("read", {})),
        formats=dict(about.get("formats", {})),
        packages=tuple(about.get("packages", ())),
        unrecorded=frozenset(about.get("unrecorded", ())),
    )
