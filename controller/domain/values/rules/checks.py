"""What a service cannot work without, or works badly without, as `checks` in its folder say. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any

from controller.domain.api.spec_rules.rule import Rule, Severity
from controller.domain.shared.cel import CelError, Expression, expression
from controller.domain.values.rules.service_rules import parse_rule

VARIABLES = frozenset(("features", "releases", "item"))
# What checks can ask of the values of their release (controller.render.service_checks).
FUNCTIONS = frozenset(
    (
        "value",
        "given",
        "chosen",
        "own",
        "keys",
        "listed",
        "document",
        "placeholders",
        "isTemplate",
        "text",
        "isOn",
        "cpus",
    )
)
# What the words of a check can have.
_FILLED = frozenset(("item", "lacks"))
_MACRO = re.compile(r"\.(?:all|exists|exists_one|filter|map)\((\w+),")
# Of CEL's own, what checks may use.
_TYPES = frozenset(("list", "map", "string", "int", "double", "bool"))
_OF_CEL = frozenset(("size", "startsWith", "endsWith", "contains", "matches", "type", "string"))


@dataclass(frozen=True)
class ServiceCheck:
    """One check of the final values of a release.

    It applies where `when` holds, once for each item of `for_each`; with a `daemonset` also for the values
    that its labelled nodes have. The problem is there where `needs` does not hold, or `lacks` has any items.
    In the words of the `rule`, `{item}` is the item, and `{lacks}` are those that are lacking.
    """

    release: str
    rule: Rule
    when: Expression | None = None
    for_each: Expression | None = None
    needs: Expression | None = None
    lacks: Expression | None = None
    daemonset: str = ""

    @property
    def warns(self) -> bool:
        """Whether the region is only warned; otherwise a release that is new is refused."""
        return self.rule.severity == Severity.WARNING


def parse_check(service: str, body: Mapping[str, Any]) -> ServiceCheck:
    """A check that matches values/service.schema.yaml. Raises CelError for what cannot be evaluated."""
    for text in (body["message"], body["remedy"]):
        strange = {name for _, name, _, _ in Formatter().parse(text) if name is not None} - _FILLED
        if strange:
            raise CelError(f"{text!r} has a place for {', '.join(sorted(strange))}, which checks do not fill")
    read = {key: _read(body[key]) for key in ("when", "forEach", "needs", "lacks") if key in body}
    return ServiceCheck(
        release=body["release"],
        rule=parse_rule(service, body),
        when=read.get("when"),
        for_each=read.get("forEach"),
        needs=read.get("needs"),
        lacks=read.get("lacks"),
        daemonset=body.get("daemonset", ""),
    )


def _read(text: str) -> Expression:
    found = expression(text)
    variables = found.variables - VARIABLES - _TYPES - set(_MACRO.findall(text))
    unknown = sorted(variables | (found.functions - FUNCTIONS - _OF_CEL))
    if unknown:
        raise CelError(f"{text!r} refers to {', '.join(unknown)}, which checks do not have")
    return found
