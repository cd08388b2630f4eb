"""The table of the controller's rights in docs/security.md, from a render of its chart.

`python -m tools.rights_table` (make rbac) writes it; a test compares the two.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import yaml

from controller.domain.validation.rbac_union import Permission, granted
from tests.charts_controller.chart_objects import CONTROLLER_CHART
from tests.helm_program import Chart

PAGE = Path(__file__).parents[1] / "docs" / "security.md"
BEGIN = "<!-- Written by `make rbac`; do not edit. -->\n"
END = "<!-- The end of what is written. -->\n"
NAMESPACE = "openstack-controller"
WHERE = "the cluster"
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "bind")


def rights_table() -> str:
    """Markdown: where, which verbs, on what. What is granted on one object of a kind names it."""
    rendered = Chart.load(CONTROLLER_CHART).render(
        {"crds": {"install": False}}, name="openstack-controller", namespace=NAMESPACE
    )
    objects = [
        obj
        for path, text in rendered.items()
        if not path.endswith("NOTES.txt")
        for obj in yaml.load_all(text, Loader=yaml.CSafeLoader)
        if obj
    ]
    places: dict[str, set[Permission]] = defaultdict(set)
    for obj in objects:
        places[obj["metadata"].get("namespace") or WHERE] |= granted([obj])
    lines = ["| where | may | what |", "|---|---|---|"]
    for place in sorted(place for place, rights in places.items() if rights):
        shown = place if place == WHERE else f"`{place}`"
        lines += [f"| {shown} | {verbs} | {what} |" for verbs, what in _rows(places[place])]
    return "\n".join(lines) + "\n"


def _rows(rights: set[Permission]) -> list[tuple[str, str]]:
    verbs: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for group, resource, name, verb in rights:
        if not name or (group, resource, "", verb) not in rights:
            verbs[group, resource, name].add(verb)
    rows: dict[str, list[str]] = defaultdict(list)
    for (group, resource, name), allowed in sorted(verbs.items()):
        kind = f"{resource}.{group}" if group else resource
        words = ", ".join(sorted(allowed, key=VERBS.index))
        rows[words].append(f"{kind} `{name}`" if name else kind)
    return [(words, ", ".join(kinds)) for words, kinds in sorted(rows.items())]


def written_table() -> str:
    """What stands on the page."""
    return PAGE.read_text(encoding="utf-8").split(BEGIN, 1)[1].split(END, 1)[0].strip("\n") + "\n"


def main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{rights_table()}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
