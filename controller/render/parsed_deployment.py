"""An OpenStackDeployment as it was last read against its definition, for as long as its spec is the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.region.deployment import OpenStackDeployment, parse_deployment
from controller.domain.validation.definitions.crd_schema import ResourceSchema
from controller.errors import SpecInvalid

Identity = tuple[str, str, str, int]


@dataclass(frozen=True)
class _Parsed:
    of: Identity
    outcome: OpenStackDeployment | SpecInvalid


class ParsedDeployment:
    """Reads each generation once: a pass at rest reads nothing, and all of a pass see the same.

    Only the last one is kept, in memory. A failure is kept too.
    """

    def __init__(self, schema: ResourceSchema) -> None:
        self._schema = schema
        self._last: _Parsed | None = None

    def of(self, osdpl: Mapping[str, Any]) -> OpenStackDeployment:
        """The deployment that the object describes. Raises SpecInvalid."""
        identity, last = identity_of(osdpl), self._last
        if last is None or last.of != identity:
            last = self._last = _Parsed(identity, self._parsed(osdpl))
        if isinstance(last.outcome, SpecInvalid):
            raise SpecInvalid(last.outcome.problems)
        return last.outcome

    def _parsed(self, osdpl: Mapping[str, Any]) -> OpenStackDeployment | SpecInvalid:
        try:
            return parse_deployment(osdpl, self._schema)
        except SpecInvalid as error:
            return SpecInvalid(error.problems)  # without the traceback, which holds all of the reading


def identity_of(osdpl: Mapping[str, Any]) -> Identity:
    """Which spec of which object: a write of the status changes neither uid nor generation."""
    meta = osdpl["metadata"]
    name, namespace, uid = (str(meta.get(key) or "") for key in ("name", "namespace", "uid"))
    return name, namespace, uid, int(meta.get("generation") or 0)
