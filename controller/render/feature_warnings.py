"""Warnings for valid features that need devices, packages or servers from the operator. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from controller.domain.api.spec_rules import features as rules
from controller.domain.validation.physical_networks import unbridged_networks
from controller.domain.validation.replaced_policies import closed_rules
from controller.domain.validation.value_relations import broken_relations
from controller.domain.values.chart_values import DocumentPath, format_path, lookup
from controller.domain.values.merge import MergedValues
from controller.domain.values.names.known_names import KnownNames, unknown_rules, unknown_store_options
from controller.domain.values.names.wrong_option_values import wrong_store_values
from controller.domain.values.rules.property_names import unknown_properties
from controller.domain.values.shipped_values import Library
from controller.domain.values.templates.template_input import RegionInput
from controller.domain.values.written.claims import unmatched_claims
from controller.domain.values.written.volume_stores import is_device_driver
from controller.errors import Problem
from controller.render.checked_values import is_operators
from controller.render.missing_parts import doubtful_parts

_ATTACHERS = (("cinder", "cinder_volume"), ("nova", "nova_compute"))


def feature_warnings(
    features: Mapping[str, Any], releases: Mapping[str, MergedValues], library: Library, namespace: str
) -> Iterator[Problem]:
    """What a feature needs beside our values: devices of hosts, and packages of images; and what services do
    badly without. `releases` are the final values of all releases, by name, in the region's `namespace`."""
    yield from doubtful_parts(library.checks, features, releases)
    for index, store in enumerate(features["blockStorage"]["backends"] if "cinder" in releases else ()):
        path: DocumentPath = ("blockStorage", "backends", index)
        if store["type"] == "nfs":
            yield from _stock_images(releases, _ATTACHERS, "has no mount.nfs (package nfs-common)", path)
        if store["type"] == "lvm" and (store["lvm"] or {}).get("protocol") == "nvmet_tcp":
            lacks = "has neither the Python package nvmet nor nvme-cli"
            yield from _stock_images(releases, _ATTACHERS, lacks, path)
        if store["type"] == "custom" and is_device_driver(store["conf"]):
            yield from _host_devices(releases, path)
    if "keystone" in releases:
        yield from unmatched_claims(features["identity"]["federation"])
    yield from broken_relations(releases, library.relations)
    yield from unknown_properties(releases, library.properties)
    for merged in releases.values():
        yield from closed_rules(merged, namespace, releases)
    if "neutron" in releases:
        ovn = releases["ovn"].values if "ovn" in releases else None
        networks = features["networking"]["externalNetworks"]
        yield from unbridged_networks(networks, releases["neutron"].values, ovn)


def unknown_names(region: RegionInput, names: KnownNames) -> Iterator[Problem]:
    """Rules of policies and options of stores that OpenStack of the region's version does not have, and
    values of these options that it cannot read."""
    series, features = region.spec.openstack_version, region.features
    known = {entry.name: [names.of(chart, series) for chart in entry.charts] for entry in region.services}
    for name, written in features["policies"].items():
        theirs = frozenset(rule for one in known.get(name, ()) for rule in one.rules)
        who = f"{name} of OpenStack {series}"
        for rule, finding in unknown_rules(written, theirs, written.values(), who):
            yield finding.at(format_path(("spec", "features", "policies", name, rule)))
    for index, store in enumerate(features["blockStorage"]["backends"]):
        path: DocumentPath = ("spec", "features", "blockStorage", "backends", index, "conf")
        for service in known.get("block-storage", ()):
            conf = store.get("conf") or {}
            slips = (*unknown_store_options(conf, service), *wrong_store_values(conf, service))
            for option, finding in slips:
                yield finding.at(format_path((*path, option)))


def _host_devices(releases: Mapping[str, MergedValues], path: DocumentPath) -> Iterator[Problem]:
    names = [name for name in ("cinder", "nova") if name in releases]
    blind = [name for name in names if not lookup(releases[name].values, ("conf", "enable_iscsi"))]
    if blind:
        yield rules.DRIVER_NEEDS_HOST_DEVICES.at(
            format_path(("spec", "features", *path)), blind=" and ".join(blind)
        )


def _stock_images(
    releases: Mapping[str, MergedValues], tags: Iterable[tuple[str, str]], lacks: str, path: DocumentPath
) -> Iterator[Problem]:
    stock = [
        tag
        for release, tag in tags
        if release in releases and not is_operators(releases[release], "images", "tags", tag)
    ]
    if stock:
        yield rules.IMAGE_LACKS_PACKAGE.at(
            format_path(("spec", "features", *path)),
            tags=" and ".join(stock),
            lacks=lacks,
            listed=", ".join(stock),
        )
