"""Writes docs/reference-refusals.md: every rule about the spec of a region, from the one list of them.

`python -m tools.refusals` (make refusals) writes it; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from controller.domain.api.spec_rules.registry import RULES
from controller.domain.api.spec_rules.rule import DecidedBy, Rule
from controller.domain.values.rules.service_rules import parse_rule

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference-refusals.md"
HEAD = """<!-- Written by `make refusals`; do not edit. -->
# Rules about the spec

These are all rules by which the spec of a region is refused, or warned about. `osctl validate` applies them
to files, and the controller applies them to the object. A text in braces, such as `{name}`, is filled in.
`[*]` in a path is an item of a list, and `*` is a name. The identifier of a rule stays when its words
change, and `osctl validate -o json` shows it as `rule`.

| decided by | where and when |
|---|---|
| schema | the resource definition; the API server refuses the object too |
| CEL | a rule in the resource definition; the API server refuses the object too |
| python | the controller and `osctl validate`, from the spec and the values |
| render | the folder of a service, while its releases are rendered and checked |
"""
TITLES = {
    DecidedBy.SCHEMA: "Schema of the resource definition",
    DecidedBy.CEL: "Rules of the resource definition",
    DecidedBy.PYTHON: "Rules of the controller and osctl",
    DecidedBy.RENDER: "Rules of services",
}


def all_rules() -> tuple[Rule, ...]:
    """The rules of the code, and those in the folders of services."""
    return (*RULES, *_service_rules())


def _service_rules() -> Iterator[Rule]:
    for path in sorted(ROOT.glob("values/services/*/service.yaml")):
        body = yaml.safe_load(path.read_text(encoding="utf-8"))
        for one in (*body.get("rules", ()), *body.get("checks", ())):
            yield parse_rule(path.parent.name, one)


def page(rules: Sequence[Rule]) -> str:
    """The whole page: a table for each part of the product that decides, sorted by path."""
    lines = [HEAD]
    for decided, title in TITLES.items():
        found = sorted(
            (one for one in rules if one.decided_by == decided), key=lambda one: (one.path, one.id)
        )
        lines += [f"## {title}\n", "| rule | field | says | remedy | |", "|---|---|---|---|---|"]
        lines += [_row(one) for one in found]
        lines.append("")
    return "\n".join(lines)


def _row(rule: Rule) -> str:
    cells = (f"`{rule.id}`", f"`{rule.path}`", _text(rule.message), _text(rule.remedy), str(rule.severity))
    return f"| {' | '.join(cells)} |"


def _text(template: str) -> str:
    """As it is printed, and as Markdown takes it in a table."""
    plain = template.replace("{{", "{").replace("}}", "}")
    for mark in ("\\", "|", "<", "*", "_", "`", "["):
        plain = plain.replace(mark, f"\\{mark}")
    return plain


if __name__ == "__main__":
    PAGE.write_text(page(all_rules()), encoding="utf-8")
