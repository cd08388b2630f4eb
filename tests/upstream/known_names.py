"""Records the names of options and rules that packages define: `python -m tests.upstream.known_names`.

`values/charts/option-names.json` has the options of OpenStack's services by chart and section, and the rules
of their policies by chart: `osctl validate` warns of a name that is not among them. A name stands alone where
each version has it, else with those that do: `name@2025.1,2025.2`. What all charts have is under `every`.
`; ` is between the names of rules, which may be of several words.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from tests.render.region import ROOT
from tests.upstream.option_packages import PACKAGES, SERIES, ask, load, pins_digest

FACTS = ROOT / "values" / "charts" / "option-names.json"
EVERY = "every"


def observe_options(series: str, chart: str) -> dict[str, list[str]]:
    """The names of options by section, as the packages of a series say."""
    found: dict[str, list[str]] = ask(series, chart, names=True)["names"]
    return found


def observe_rules(series: str, chart: str) -> list[str]:
    """The names of rules, as the packages of a series say."""
    found: list[str] = load(series, chart, "rule_names")
    return found


def _joined(by_series: Mapping[str, Iterable[str]], between: str = " ") -> str:
    """The names of all series in one text."""
    known: defaultdict[str, list[str]] = defaultdict(list)
    for series in SERIES:
        for name in by_series.get(series, ()):
            known[name].append(series)
    words = (
        name if len(found) == len(SERIES) else f"{name}@{','.join(found)}"
        for name, found in sorted(known.items())
    )
    return between.join(words)


def main() -> None:
    """Asks every series about every chart: minutes."""
    options: dict[str, dict[str, dict[str, set[str]]]] = {}
    for chart in PACKAGES:
        sections = options.setdefault(chart, {})
        for series in SERIES:
            for section, names in observe_options(series, chart).items():
                sections.setdefault(section, {})[series] = set(names)
    shared = {
        section: {
            series: set.intersection(
                *(options[chart].get(section, {}).get(series, set()) for chart in PACKAGES)
            )
            for series in SERIES
        }
        for section in set.intersection(*(set(sections) for sections in options.values()))
    }
    recorded: dict[str, Any] = {EVERY: {name: _joined(shared[name]) for name in sorted(shared)}}
    for chart, sections in sorted(options.items()):
        own = {
            section: {
                series: names - shared.get(section, {}).get(series, set()) for series, names in by.items()
            }
            for section, by in sorted(sections.items())
        }
        recorded[chart] = {section: text for section, by in own.items() if (text := _joined(by))}
    rules = {
        chart: _joined({series: observe_rules(series, chart) for series in SERIES}, "; ")
        for chart in PACKAGES
    }
    found = {
        "pins": {series: pins_digest(series) for series in SERIES},
        "options": recorded,
        "rules": {chart: text for chart, text in sorted(rules.items()) if text},
    }
    FACTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
