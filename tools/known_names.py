"""Records the names of options and rules that packages define: `make options`.

`values/charts/option-names.json` has the options of OpenStack's services by chart and section, and the rules
of their policies by chart: `osctl validate` warns of a name that is not among them. A name stands alone where
each version has it, else with those that do: `name@2025.1,2025.2`. What all charts have is under `every`.
`; ` is between the names of rules, which may be of several words. `kinds` has what the values of options have
to be, as `name=int(0..)`, where they cannot be any text; `secrets` has the options that packages call secret.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from tests.render.region import ROOT
from tests.upstream.option_packages import PACKAGES, SERIES, ask, load, pins_digest

FACTS = ROOT / "values" / "charts" / "option-names.json"
EVERY = "every"


@cache
def _observed(series: str, chart: str) -> dict[str, Any]:
    found: dict[str, Any] = ask(series, chart, names=True, kinds=True, secrets=True)
    return found


def observe_options(series: str, chart: str) -> dict[str, list[str]]:
    """The names of options by section, as the packages of a series say."""
    found: dict[str, list[str]] = _observed(series, chart)["names"]
    return found


def observe_kinds(series: str, chart: str) -> dict[str, list[str]]:
    """What values of options have to be, as `name=kind` by section, as the packages of a series say."""
    found: dict[str, dict[str, str]] = _observed(series, chart)["kinds"]
    return {
        section: [f"{name}={kind}" for name, kind in sorted(by.items())]
        for section, by in found.items()
        if by
    }


def observe_secrets(series: str, chart: str) -> dict[str, list[str]]:
    """The options that are secret, by section, as the packages of a series say."""
    found: dict[str, list[str]] = _observed(series, chart)["secrets"]
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


def _recorded(
    by_chart: Mapping[str, Mapping[str, Mapping[str, Iterable[str]]]],
) -> dict[str, dict[str, str]]:
    """Words by chart and section, of those by chart, series and section; those of all charts once."""
    found = {
        chart: {
            section: {series: set(by_series[series].get(section, ())) for series in SERIES}
            for section in sorted({name for by in by_series.values() for name in by})
        }
        for chart, by_series in sorted(by_chart.items())
    }
    shared = {
        section: {
            series: set.intersection(*(sections[section][series] for sections in found.values()))
            for series in SERIES
        }
        for section in sorted(set.intersection(*(set(sections) for sections in found.values())))
    }
    recorded = {EVERY: {section: _joined(by) for section, by in shared.items()}}
    for chart, sections in found.items():
        own = {
            section: {
                series: words - shared.get(section, {}).get(series, set()) for series, words in by.items()
            }
            for section, by in sections.items()
        }
        recorded[chart] = {section: text for section, by in own.items() if (text := _joined(by))}
    return recorded


def main() -> None:
    """Asks every series about every chart: minutes."""
    names = {chart: {series: observe_options(series, chart) for series in SERIES} for chart in PACKAGES}
    kinds = {chart: {series: observe_kinds(series, chart) for series in SERIES} for chart in PACKAGES}
    secrets = {chart: {series: observe_secrets(series, chart) for series in SERIES} for chart in PACKAGES}
    rules = {
        chart: _joined({series: observe_rules(series, chart) for series in SERIES}, "; ")
        for chart in PACKAGES
    }
    found = {
        "pins": {series: pins_digest(series) for series in SERIES},
        "options": _recorded(names),
        "kinds": _recorded(kinds),
        "secrets": _recorded(secrets),
        "rules": {chart: text for chart, text in sorted(rules.items()) if text},
    }
    FACTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
