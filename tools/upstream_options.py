"""Facts of options: what OpenStack-Helm's charts write of their own values that no package knows.

`make options` writes tests/data/upstream-options.json (CHARTS names a checkout).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

FACTS = Path(__file__).parents[1] / "tests" / "data" / "upstream-options.json"
# By chart: what is wrong, as `unknown: [section] option`, with the versions of OpenStack in which it is.
Facts = Mapping[str, Mapping[str, list[str]]]


def told(kind: str, section: str, option: str) -> str:
    """One finding."""
    return f"{kind}: [{section}] {option}"


def recorded() -> Facts:
    """The last record."""
    found: Facts = json.loads(FACTS.read_text(encoding="utf-8"))
    return found


def recorded_of(series: str, chart: str) -> set[str]:
    """Those of a chart in one version of OpenStack."""
    return {text for text, versions in recorded().get(chart, {}).items() if series in versions}


def record(found: Mapping[tuple[str, str], Iterable[str]]) -> None:
    """Writes what was found, by series and chart; a line for each finding."""
    charts: dict[str, dict[str, list[str]]] = {}
    for (series, chart), texts in sorted(found.items()):
        for text in sorted(texts):
            charts.setdefault(chart, {}).setdefault(text, []).append(series)
    parts = (f"{json.dumps(chart)}: {{\n{_lines(texts)}\n}}" for chart, texts in sorted(charts.items()))
    FACTS.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def _lines(texts: Mapping[str, list[str]]) -> str:
    return ",\n".join(
        f"  {json.dumps(text)}: {json.dumps(versions)}" for text, versions in sorted(texts.items())
    )


def main() -> None:
    """Asks every series about every chart: minutes."""
    from tests.upstream.option_packages import PACKAGES, SERIES
    from tests.upstream.test_configuration import bare_findings

    record({(series, chart): bare_findings(series, chart) for series in SERIES for chart in PACKAGES})


if __name__ == "__main__":
    main()
