"""Records the defaults of the options that packages define: `make options`.

`values/charts/option-defaults.json` has them by chart, section and option, as a file would have them: one
text where all series have the same, otherwise one for each series. `null` stands for no default. What all
charts have is under `every`. `osctl explain` shows them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests.render.region import ROOT
from tests.upstream.option_packages import PACKAGES, SERIES, ask, pins_digest

FACTS = ROOT / "values" / "charts" / "option-defaults.json"
EVERY = "every"

Defaults = Mapping[str, Mapping[str, str | None]]
# By section and option: one text, or one for each series.
Recorded = dict[str, dict[str, str | dict[str, str | None] | None]]


def observe_defaults(series: str, chart: str) -> Defaults:
    """The defaults by section and option, as the packages of a series say."""
    found: Defaults = ask(series, chart, defaults=True)["defaults"]
    return found


def merged(by_series: Mapping[str, Defaults]) -> Recorded:
    """The defaults of all series in one."""
    found: Recorded = {}
    for section in sorted({name for known in by_series.values() for name in known}):
        options = sorted({name for known in by_series.values() for name in known.get(section, ())})
        for option in options:
            texts = {
                series: known[section][option]
                for series, known in by_series.items()
                if option in known.get(section, {})
            }
            same = len(texts) == len(SERIES) and len(set(texts.values())) == 1
            found.setdefault(section, {})[option] = texts[SERIES[0]] if same else texts
    return found


def main() -> None:
    """Asks every series about every chart: minutes."""
    found = {
        chart: merged({series: observe_defaults(series, chart) for series in SERIES}) for chart in PACKAGES
    }
    first = next(iter(found.values()))
    shared = {
        section: {
            option: text
            for option, text in options.items()
            if all(option in one.get(section, {}) and one[section][option] == text for one in found.values())
        }
        for section, options in first.items()
    }
    own = {
        chart: {
            section: kept
            for section, options in sections.items()
            if (kept := {name: text for name, text in options.items() if name not in shared.get(section, {})})
        }
        for chart, sections in sorted(found.items())
    }
    every = {section: options for section, options in shared.items() if options}
    written = {"pins": {series: pins_digest(series) for series in SERIES}, "defaults": {EVERY: every, **own}}
    FACTS.write_text(json.dumps(written, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
