"""Rules that the folder of a service brings: what its template refuses or warns of. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from controller.domain.api.spec_rules.rule import DecidedBy, Finding, Rule, Severity
from controller.errors import Problem


class TemplateRefusal(Exception):
    """A template refuses the input that it was given, by `{{ refuse("id", …) }}`."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(str(problem))


def parse_rule(service: str, body: Mapping[str, Any]) -> Rule:
    """A rule of a service, of its `rules` or `checks`, that matches values/service.schema.yaml."""
    severity = Severity.WARNING if body.get("warns") else Severity.REFUSED
    id_ = f"{service}/{body['id']}"
    return Rule(id_, DecidedBy.RENDER, body["path"], body["message"], body["remedy"], severity)


def rule_functions(
    rules: Mapping[str, Rule], warn: Callable[[Problem], None]
) -> dict[str, Callable[..., Any]]:
    """`refuse` and `warn` for a template: by the id of a rule in its folder, and what fills in the words."""

    def found(id_: str, facts: Mapping[str, object], severity: Severity) -> Problem:
        if id_ not in rules or rules[id_].severity != severity:
            raise LookupError(f"service.yaml has no rule {id_!r} that is {severity}")
        return Finding(rules[id_], facts).at(rules[id_].path)

    def refuse(id_: str, **facts: object) -> NoReturn:
        raise TemplateRefusal(found(id_, facts, Severity.REFUSED))

    def say(id_: str, **facts: object) -> None:
        warn(found(id_, facts, Severity.WARNING))

    return {"refuse": refuse, "warn": say}
