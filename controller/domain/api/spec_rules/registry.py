"""The list of all rules about the spec of a region, but those that folders of services bring themselves.

The text of a rule is in the module of its subject beside this one, or under `rules` in
`values/services/<service>/service.yaml`. `tools/refusals.py` writes docs/reference-refusals.md from all.
"""

from __future__ import annotations

from types import ModuleType

from controller.domain.api.spec_rules import (
    cel,
    charts_and_services,
    definition,
    effects,
    encryption_and_servers,
    features,
    options,
    pods_and_nodes,
    properties,
    running_region,
    sign_in,
    values,
)
from controller.domain.api.spec_rules.rule import Rule


def _rules_in(*modules: ModuleType) -> tuple[Rule, ...]:
    return tuple(one for module in modules for one in vars(module).values() if isinstance(one, Rule))


RULES: tuple[Rule, ...] = (
    *_rules_in(definition),
    *cel.CEL_RULES,
    *_rules_in(
        charts_and_services, features, sign_in, encryption_and_servers, pods_and_nodes, values, options
    ),
    *_rules_in(properties, effects, running_region),
)
