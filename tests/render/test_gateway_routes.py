"""Routes from public names to the services of a region, made with service gateway."""

from __future__ import annotations

from typing import Any

from tests.render.region import core_spec, render
from tests.render.specs import GATEWAY


def routes(**features: Any) -> list[dict[str, Any]]:
    region = render(core_spec(features={**GATEWAY, **features}))
    found = []
    for bundle in region.bundles:
        for release in bundle.releases:
            extra = release.merged.values.get("extraObjects") or {}
            objects = extra.values() if isinstance(extra, dict) else extra
            found += [one for one in objects if one.get("kind") == "HTTPRoute"]
    return found


def test_no_route_ends_a_request_that_takes_long() -> None:
    """Envoy ends each after 15 seconds unless a route says otherwise: an upload of an image."""
    rules = [rule for route in routes() for rule in route["spec"]["rules"]]
    assert len(rules) > 4
    assert [rule for rule in rules if rule.get("timeouts") != {"request": "0s"}] == []
