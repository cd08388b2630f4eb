"""What the operator writes for services, charts, nodes and images that the region does not have."""

from __future__ import annotations

from collections.abc import Mapping

from controller.domain.region.deployment import OpenStackDeployment
from controller.domain.region.named_charts import unused_charts
from controller.domain.region.node_overrides import check_nodes
from controller.domain.region.upgrade.broker_version_hops import hop_tags
from controller.domain.releases.bundle import BundleSpec
from controller.domain.values.catalogue import ServiceEntry
from controller.domain.values.images import check_image_overrides
from controller.domain.values.layer_order import check_overrides
from controller.domain.values.shipped_values import Library
from controller.errors import Problem


def unused_overrides(
    deployment: OpenStackDeployment,
    library: Library,
    services: tuple[ServiceEntry, ...],
    made: Mapping[str, BundleSpec],
    image_tags: frozenset[str],
) -> list[Problem]:
    """Overrides without a release that reads them. `made`: what was rendered, by service."""
    releases = {name: bundle.releases for name, bundle in made.items()}
    groups = {one.name: library.catalogue[name].group for name, sent in releases.items() for one in sent}
    complete = len(made) == len(services)
    if not complete:  # a service that failed to render still has its charts' names
        groups.update({chart: entry.group for entry in services for chart in entry.charts})
    document, enabled = deployment.document, {entry.name: entry for entry in services}
    found = check_overrides(document, library.catalogue, frozenset(enabled), groups)
    found += check_nodes(document, enabled)
    charts = {name: {one.chart.name for one in sent} for name, sent in releases.items()}
    found += unused_charts(document, library.catalogue, charts)
    if complete:
        found += check_image_overrides(deployment.spec.images, image_tags | hop_tags(services))
    return found
