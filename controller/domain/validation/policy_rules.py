"""Rules of policies, as oslo.policy reads them (oslo_policy/_parser.py): what it cannot, it denies to all.

A rule is checks with `and`, `or`, `not` and parentheses between them; an empty rule allows every user. A
check is `!`, `@`, or two parts with a colon. Parentheses count at the ends of a word: `%(project_id)s` has
its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.api.spec_rules.features import POLICY_RULE_MALFORMED
from controller.domain.values.chart_values import PATCH, Path, is_map, lookup, type_name
from controller.domain.values.layer import Layer
from controller.errors import Problem

_RULES: Path = ("conf", "policy")
_OPERATORS = ("and", "or")
_SHOWN = 40


def rule_problem(rule: str) -> str:
    """Why oslo.policy does not understand the rule; empty where it does."""
    wants_check, depth = True, 0
    for part in _words(rule):
        word = part.lower()
        if not wants_check and part == ")":
            depth -= 1
            if depth < 0:
                return 'has a ")" without a "("'
        elif not wants_check and word in _OPERATORS:
            wants_check = True
        elif not wants_check:
            return f'lacks "and" or "or" before "{_shown(part)}"'
        elif part == "(":
            depth += 1
        elif part == ")" or word in _OPERATORS:
            return f'lacks a check before "{part}"'
        elif word != "not":
            if wrong := _check_problem(part):
                return wrong
            wants_check = False
    if wants_check:
        return "ends without the last check" if rule else ""
    return 'has a "(" without a ")"' if depth else ""


def policy_problems(layer: Layer) -> Iterator[Problem]:
    """Rules below `conf.policy` of this layer that oslo.policy does not understand."""
    rules = lookup(layer.values, _RULES)
    for name, rule in rules.items() if is_map(rules) else ():
        wrong = _value_problem(rule) if name != PATCH else ""
        if wrong:
            path = (*_RULES, name)
            yield POLICY_RULE_MALFORMED.at(layer.full_path(path), source=layer.place(path), fault=wrong)


def _value_problem(rule: Any) -> str:
    """The older form of a rule, a list, is taken as it is; a map holds the rules of several services."""
    if isinstance(rule, str):
        return rule_problem(rule)
    if rule is None or isinstance(rule, list | Mapping):
        return ""
    return f"expected a rule as text, got {type_name(rule)}"


def _words(rule: str) -> Iterator[str]:
    for written in rule.split():
        without = written.lstrip("(")
        yield from "(" * (len(written) - len(without))
        if not without:
            continue
        check = without.rstrip(")")
        if check:
            yield check
        yield from ")" * (len(without) - len(check))


def _check_problem(part: str) -> str:
    # oslo.policy takes these for a text, which no rule may have; beside a parenthesis for a check that never
    # holds.
    if len(part) > 1 and part[0] == part[-1] and part[0] in "\"'":
        return f"{_shown(part)} is in quotation marks"
    if part in ("!", "@") or ":" in part:
        return ""
    return f'"{_shown(part)}" is not a check: a colon is missing'


def _shown(part: str) -> str:
    return part if len(part) <= _SHOWN else f"{part[: _SHOWN - 1]}…"
