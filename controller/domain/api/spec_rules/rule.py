"""One rule about the spec of a region: where it is decided, what it says, and what would be right. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from controller.errors import Problem


class DecidedBy(StrEnum):
    """Which part of the product decides a rule."""

    SCHEMA = "schema"
    """The schema of the resource definition."""
    CEL = "CEL"
    """A rule in the resource definition, which the API server evaluates too."""
    PYTHON = "python"
    """The controller and osctl, from the spec and the values."""
    RENDER = "render"
    """The folder of a service, while its releases are rendered or checked."""


class Severity(StrEnum):
    """What happens to a spec that breaks a rule."""

    REFUSED = "refused"
    WARNING = "warning"


@dataclass(frozen=True)
class Rule:
    """`id` is stable: it stays when the words change. `path` has `[*]` for an item, and `*` for a name.

    `message` and `remedy` are templates: `{name}` is filled in by `at`.
    """

    id: str
    decided_by: DecidedBy
    path: str
    message: str
    remedy: str = ""
    severity: Severity = Severity.REFUSED

    def at(self, path: str, *, source: str = "", **facts: object) -> Problem:
        """The problem of a spec that breaks the rule there."""
        return Finding(self, facts).at(path, source)


@dataclass(frozen=True)
class Finding:
    """A rule that is broken, with what its words are filled with; where, the caller knows."""

    rule: Rule
    facts: Mapping[str, object]

    @property
    def message(self) -> str:
        return self.rule.message.format(**self.facts)

    @property
    def remedy(self) -> str:
        return self.rule.remedy.format(**self.facts)

    def at(self, path: str, source: str = "") -> Problem:
        """The problem at a place."""
        return Problem(path, self.message, self.remedy, source, self.rule.id)


def refusal(id_: str, path: str, message: str, remedy: str = "") -> Rule:
    """A rule that the controller and osctl decide, and that refuses the spec."""
    return Rule(id_, DecidedBy.PYTHON, path, message, remedy)


def warning(id_: str, path: str, message: str, remedy: str = "") -> Rule:
    """A rule that the controller and osctl decide, and that only warns."""
    return Rule(id_, DecidedBy.PYTHON, path, message, remedy, Severity.WARNING)


def cel_rule(id_: str, path: str, message: str) -> Rule:
    """A rule of the resource definition, with its words there; a test compares the two."""
    return Rule(id_, DecidedBy.CEL, path, message)


def schema_rule(id_: str, path: str, message: str, remedy: str = "") -> Rule:
    """What the schema of the resource definition refuses, of any field that it says so of."""
    return Rule(id_, DecidedBy.SCHEMA, path, message, remedy)
