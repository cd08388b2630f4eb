"""All rules about the spec are one list: each is used, gets what its words need, and is documented."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from controller.domain.api.spec_rules.cel import CEL_RULES
from controller.domain.api.spec_rules.registry import RULES
from controller.domain.api.spec_rules.rule import DecidedBy, Rule
from tools.refusals import PAGE, all_rules, page

ROOT = Path(__file__).parents[2]
RULE_FILES = ROOT / "controller" / "domain" / "api" / "spec_rules"
DEFINITION = ROOT / "charts/openstack-controller/files/crds/openstackdeployments.yaml"


# Where the spec of a region is checked.
WITHOUT_WORDS = (
    "controller/domain/region",
    "controller/domain/values",
    "controller/reconcile/region",
    "controller/render",
)
# A template that is broken is a defect of ours, and a text that is no YAML is not yet a spec.
OTHER_WORDS = frozenset(
    (
        "controller/domain/values/templates/service_template.py",
        "controller/domain/values/yaml_reader.py",
    )
)


def _placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def _constants() -> dict[str, Rule]:
    found = {}
    for path in RULE_FILES.glob("*.py"):
        module = __import__(f"controller.domain.api.spec_rules.{path.stem}", fromlist=["_"])
        found |= {name: one for name, one in vars(module).items() if isinstance(one, Rule)}
    return found


def _rule_of(node: ast.AST, known: Mapping[str, Rule]) -> Rule | None:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return known.get(name)


def _uses(known: Mapping[str, Rule]) -> Iterator[tuple[str, Rule, set[str] | None]]:
    """Place and rule of each use in the code; the facts given there, None where the call shows none."""
    for path in sorted((ROOT / "controller").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if RULE_FILES in path.parents or "spec_rules" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            place = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
            if not isinstance(node, ast.Call):
                continue
            given = {one.arg for one in node.keywords if one.arg} - {"source", "certain"}
            if isinstance(node.func, ast.Attribute) and (rule := _rule_of(node.func.value, known)):
                yield place, rule, given
            for argument in node.args:
                if rule := _rule_of(argument, known):
                    shown = getattr(node.func, "id", getattr(node.func, "attr", ""))
                    yield place, rule, None if shown in ("Finding", "_Fault") else given


def test_every_id_is_there_once_and_has_one_form() -> None:
    ids = [one.id for one in all_rules()]
    assert [one for one in ids if ids.count(one) > 1] == []
    assert [
        one for one in ids if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*(/[a-z0-9]+(-[a-z0-9]+)*)?", one)
    ] == []


def test_every_rule_of_the_code_is_used_and_gets_what_its_words_need() -> None:
    known = _constants()
    used = list(_uses(known))
    ids = {rule.id for _, rule, _ in used}
    assert {name for name, one in known.items() if one.id not in ids} == set()
    wrong = [
        (place, rule.id, sorted(given ^ needed))
        for place, rule, given in used
        if given is not None and given != (needed := _placeholders(rule.message) | _placeholders(rule.remedy))
    ]
    assert wrong == []


def test_the_rules_in_cel_are_those_of_the_definition() -> None:
    text = re.sub(r"\{\{.*?\}\}", "", DEFINITION.read_text(encoding="utf-8"))
    schema = yaml.safe_load(text)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    found = sorted(_cel(schema, ""))
    assert found == sorted((one.path, one.message.format()) for one in CEL_RULES)
    assert {one.decided_by for one in CEL_RULES} == {DecidedBy.CEL}


def _cel(node: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    for one in node.get("x-kubernetes-validations", ()):
        named = one["rule"].startswith("self.metadata.name.")
        yield "metadata.name" if named else f"{path}{one.get('fieldPath', '')}".strip("."), one["message"]
    for key, below in (node.get("properties") or {}).items():
        yield from _cel(below, f"{path}.{key}".strip("."))
    for part, mark in (("items", "[*]"), ("additionalProperties", ".*")):
        if isinstance(node.get(part), Mapping):
            yield from _cel(node[part], path + mark)


def test_the_page_is_what_the_tool_writes() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(all_rules()), "run make refusals"


def test_the_rules_of_the_code_are_in_the_list() -> None:
    assert set(RULES) <= set(all_rules())
    assert {one.id for one in _constants().values()} <= {one.id for one in RULES}


def test_a_check_of_the_spec_has_its_words_from_a_rule() -> None:
    """A new refusal in these folders is a new rule in the list."""
    bare = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for folder in WITHOUT_WORDS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Problem"
    ]
    assert [place for place in bare if place.rpartition(":")[0] not in OTHER_WORDS] == []
