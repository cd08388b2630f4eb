"""What becomes of the values of releases: what is wrong in them, and what of them Helm is given. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from controller.domain.region.external_servers import parted_databases
from controller.domain.region.pod_values import pod_problems, pod_warnings
from controller.domain.releases.bundle import ChartRef
from controller.domain.values.chart_values import DocumentPath, Values, format_path, lookup
from controller.domain.values.layer_order import LayerKind, SpecSource
from controller.domain.values.merge import Layer, MergedValues
from controller.domain.values.oslo_files import with_numbers_as_text
from controller.domain.values.password_guard import password_problems
from controller.domain.values.policy_rules import policy_problems
from controller.domain.values.typos import misspelt_keys
from controller.errors import Problem

# Names of drivers whose disks appear as devices of the host.
_HOST_DEVICES = re.compile(r"iscsi|fibre|(?<![a-z])fc(?![a-z])|fcdriver", re.IGNORECASE)
_OURS = (LayerKind.VERSION, LayerKind.PRESET, LayerKind.SIZE, LayerKind.SERVICE, LayerKind.EVERY_RELEASE)


def release_problems(
    release: str, merged: MergedValues, spec: SpecSource, written: Iterable[Layer]
) -> list[Problem]:
    """Every reason why a release with these values would be wrong. `written` are the operator's layers."""
    asked = [problem for layer in written for problem in (*pod_problems(layer), *policy_problems(layer))]
    return [*asked, *password_problems(release, merged, spec), *parted_databases(release, merged.values)]


def written_warnings(written: Iterable[Layer], lower: Values, chart: str) -> Iterator[Problem]:
    """Keys of the operator's layers that the chart, with the values below them, reads nothing of."""
    for layer in written:
        misspelt = list(misspelt_keys(layer, lower, chart))
        told = {problem.path for problem in misspelt}
        yield from misspelt
        yield from (problem for problem in pod_warnings(layer, lower, chart) if problem.path not in told)


def sent_values(chart: ChartRef, merged: MergedValues) -> Values:
    """What is given to Helm over the chart's defaults. The charts shipped with the controller write large
    numbers as they are: what runs with them is not to be upgraded for a text in their place."""
    return merged.overlay if chart.is_shipped else with_numbers_as_text(merged.overlay)


def feature_warnings(features: Mapping[str, Any], releases: Mapping[str, MergedValues]) -> Iterator[Problem]:
    """What a feature needs beside our values: devices of hosts, and packages of images. `releases` are the
    final values of all releases, by name."""
    if "keystone" in releases and features["identity"]["federation"]["providers"]:
        path: DocumentPath = ("identity", "federation", "providers")
        module = "mod_auth_openidc, without which Apache does not start"
        lacks = f"has no {module} (package libapache2-mod-auth-openidc)"
        yield from _stock_images(releases, (("keystone", "keystone_api"),), lacks, path)
        if not features["tls"]["public"]["enabled"]:
            yield Problem(
                format_path(("spec", "features", *path)),
                "Keystone and the dashboard are published on http, where a provider sends no browser back to",
                "set spec.features.tls.public.enabled, and publish them on https (docs/encryption.md)",
            )
    for index, store in enumerate(features["blockStorage"]["backends"] if "cinder" in releases else ()):
        path = ("blockStorage", "backends", index)
        if store["type"] == "nfs":
            tags = (("cinder", "cinder_volume"), ("nova", "nova_compute"))
            yield from _stock_images(releases, tags, "has no mount.nfs (package nfs-common)", path)
        if store["type"] == "custom" and _HOST_DEVICES.search(str(store["conf"].get("volume_driver"))):
            yield from _host_devices(releases, path)


def _host_devices(releases: Mapping[str, MergedValues], path: DocumentPath) -> Iterator[Problem]:
    names = [name for name in ("cinder", "nova") if name in releases]
    blind = [name for name in names if not lookup(releases[name].values, ("conf", "enable_iscsi"))]
    if blind:
        yield Problem(
            format_path(("spec", "features", *path)),
            f"its driver makes devices of the host, which pods of {' and '.join(blind)} do not see",
            "set conf.enable_iscsi: true in the values of those charts, under spec.services",
        )


def _stock_images(
    releases: Mapping[str, MergedValues], tags: Iterable[tuple[str, str]], lacks: str, path: DocumentPath
) -> Iterator[Problem]:
    stock = [tag for release, tag in tags if release in releases and _is_stock(releases[release], tag)]
    if stock:
        yield Problem(
            format_path(("spec", "features", *path)),
            f"OpenStack-Helm's image of {' and '.join(stock)} {lacks}",
            f"build one with it, and name it in spec.images.overrides ({', '.join(stock)})",
        )


def _is_stock(merged: MergedValues, tag: str) -> bool:
    """Whether the image is the chart's, or the one that we name for the version."""
    layer = merged.layer_of(("images", "tags", tag))
    return layer is None or layer.name.startswith(_OURS)
