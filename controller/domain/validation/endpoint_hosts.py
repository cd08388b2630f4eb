"""Hosts of endpoints that an operator names, as Services of the region that no release makes."""

from __future__ import annotations

from collections.abc import Iterator

from controller.domain.api.spec_rules import values as rules
from controller.domain.validation.awaited import SERVICE
from controller.domain.validation.dangling import Made, Reference
from controller.domain.values.chart_values import is_map, lookup
from controller.domain.values.merge import MergedValues
from controller.domain.values.value_provenance import DELETED
from controller.errors import Problem

_OF_THE_SPEC = "spec."


def unmade_hosts(release: str, merged: MergedValues, there: Made) -> Iterator[Problem]:
    """A warning for each host without a dot, in the operator's values, that is no Service there."""
    for path, settings in merged.history.settings.items():
        if len(path) not in (4, 5) or path[0] != "endpoints" or path[2] != "hosts":
            continue
        last = settings[-1]
        host = lookup(merged.values, path)
        name = host.get("host") if is_map(host) else host
        if last.value is DELETED or not last.path.startswith(_OF_THE_SPEC) or not isinstance(name, str):
            continue
        endpoint = lookup(merged.values, path[:2])
        overrides = lookup(endpoint, ("host_fqdn_override",)) or {}
        elsewhere = lookup(endpoint, ("namespace",)) or any(overrides.values())
        if not name or "." in name or ":" in name or "{{" in name or elsewhere:
            continue
        if not there.has(Reference(release, SERVICE, name)):
            yield rules.ENDPOINT_HOST_UNMADE.at(last.path, source=last.place, name=name, release=release)
