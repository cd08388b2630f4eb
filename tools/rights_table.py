"""The table of the rights of the controller and of charts in docs/security.md, from a render of its chart.

`python -m tools.rights_table` (make rbac) writes it; a test compares the two.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from controller.domain.validation.rbac_union import Permission, granted, union
from tests.helm_program import Chart
from tools.chart_objects import CONTROLLER_CHART

DATA = Path(__file__).parents[1] / "tests" / "data" / "held-rights.yaml"
PAGE = Path(__file__).parents[1] / "docs" / "security.md"
BEGIN = "<!-- Written by `make rbac`; do not edit. -->\n"
END = "<!-- The end of what is written. -->\n"
NAMESPACE = "openstack-controller"
WHERE = "the cluster"
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "bind", "impersonate")
ACCOUNTS = {
    "openstack-controller": "the controller",
    "openstack-controller-charts": "charts",
    "osctl-backup": "backups",
}


Held = Mapping[str, Mapping[str, frozenset[Permission]]]


def held_rights() -> Held:
    """By account and place, what the chart grants with its own values."""
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
    roles = {(obj["kind"], _place(obj), obj["metadata"]["name"]): obj for obj in objects}
    found: dict[str, dict[str, frozenset[Permission]]] = {account: {} for account in ACCOUNTS.values()}
    for obj in objects:
        if obj["kind"] in ("RoleBinding", "ClusterRoleBinding"):
            ref, [subject] = obj["roleRef"], obj["subjects"]
            places, place = found[ACCOUNTS[subject["name"]]], _place(obj)
            places[place] = places.get(place, frozenset()) | granted([roles[ref["kind"], place, ref["name"]]])
    return found


def rights_table(held: Held) -> str:
    """Markdown: who, where, which verbs, on what. What is granted on one object of a kind names it."""
    lines = ["| who | where | may | what |", "|---|---|---|---|"]
    for account, places in held.items():
        for place in sorted(places):
            shown = place if place == WHERE else f"`{place}`"
            lines += [f"| {account} | {shown} | {verbs} | {what} |" for verbs, what in _rows(places[place])]
    return "\n".join(lines) + "\n"


def rights_data(held: Held) -> str:
    """YAML for tests that ask what an account may do, and render nothing."""
    lines = ["# What the controller's chart grants. Written by `make rbac`; do not edit.\n"]
    for account, places in held.items():
        lines.append(f"{account}:\n")
        for place in sorted(places):
            lines.append(f"  {place}:\n")
            lines += [f"    - {json.dumps(rule)}\n" for rule in union(places[place])]
    return "".join(lines)


def _place(obj: Mapping[str, Any]) -> str:
    return str(obj["metadata"].get("namespace") or WHERE)


def _rows(rights: frozenset[Permission]) -> list[tuple[str, str]]:
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
    held = held_rights()
    DATA.write_text(rights_data(held), encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{rights_table(held)}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
