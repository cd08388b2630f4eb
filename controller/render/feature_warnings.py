"""What is valid, and needs devices, packages or servers that somebody else has to bring. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from controller.domain.validation.physical_networks import unbridged_networks
from controller.domain.validation.value_relations import broken_relations
from controller.domain.values.chart_values import DocumentPath, format_path, lookup
from controller.domain.values.merge import MergedValues
from controller.domain.values.names.known_names import KnownNames, unknown_rules, unknown_store_options
from controller.domain.values.names.option_kinds import wrong_store_values
from controller.domain.values.relations import Relations
from controller.domain.values.template_input import RegionInput
from controller.domain.values.written.volume_stores import is_device_driver
from controller.errors import Problem
from controller.render.missing_parts import is_stock

_ATTACHERS = (("cinder", "cinder_volume"), ("nova", "nova_compute"))
# By chart, the service whose policies are those of before by default: cinder/policy.py, aodh/api/hooks.py.
_OLD_DEFAULTS = {"cinder": "block-storage", "aodh": "metering"}
_MONITORS = ("host_monitor", "instance_monitor", "process_monitor", "introspective_instance_monitor")


def feature_warnings(
    features: Mapping[str, Any], releases: Mapping[str, MergedValues], relations: Relations
) -> Iterator[Problem]:
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
            yield from _stock_images(releases, _ATTACHERS, "has no mount.nfs (package nfs-common)", path)
        if store["type"] == "lvm" and (store["lvm"] or {}).get("protocol") == "nvmet_tcp":
            lacks = "has neither the Python package nvmet nor nvme-cli"
            yield from _stock_images(releases, _ATTACHERS, lacks, path)
        if store["type"] == "custom" and is_device_driver(store["conf"]):
            yield from _host_devices(releases, path)
    yield from _volume_service(releases)
    yield from broken_relations(releases, relations)
    monitors = lookup(releases["masakari"].values, ("manifests",)) if "masakari" in releases else {}
    if features["compute"]["pods"]["tolerations"] and any(monitors.get(name) for name in _MONITORS):
        yield Problem(
            "spec.features.compute.pods.tolerations",
            "the chart of Masakari reads no tolerations: its monitors run on no hypervisor with a taint",
            "keep hypervisors without, or do without the monitors",
        )
    if features["readOnlyAccount"]["enabled"]:
        yield from _reader_warnings(releases)

    if "neutron" in releases:
        ovn = releases["ovn"].values if "ovn" in releases else None
        networks = features["networking"]["externalNetworks"]
        yield from unbridged_networks(networks, releases["neutron"].values, ovn)


def _reader_warnings(releases: Mapping[str, MergedValues]) -> Iterator[Problem]:
    for chart, service in _OLD_DEFAULTS.items():
        path = ("conf", chart, "oslo_policy", "enforce_new_defaults")
        if chart in releases and lookup(releases[chart].values, path) is not True:
            yield Problem(
                "spec.features.readOnlyAccount.enabled",
                f"{chart} lets everybody write who is logged in, so that the account may, too",
                f"set spec.services.{service}.{chart}.values.{'.'.join(path)}: true (docs/exchange.md)",
            )


def unknown_names(region: RegionInput, names: KnownNames) -> Iterator[Problem]:
    """Rules of policies and options of stores that OpenStack of the region's version does not have, and
    values of these options that it cannot read."""
    series, features = region.spec.openstack_version, region.features
    known = {entry.name: [names.of(chart, series) for chart in entry.charts] for entry in region.services}
    for name, rules in features["policies"].items():
        theirs = frozenset(rule for one in known.get(name, ()) for rule in one.rules)
        who = f"{name} of OpenStack {series}"
        for rule, message, remedy in unknown_rules(rules, theirs, rules.values(), who):
            yield Problem(format_path(("spec", "features", "policies", name, rule)), message, remedy)
    for index, store in enumerate(features["blockStorage"]["backends"]):
        path: DocumentPath = ("spec", "features", "blockStorage", "backends", index, "conf")
        for service in known.get("block-storage", ()):
            conf = store.get("conf") or {}
            slips = (*unknown_store_options(conf, service), *wrong_store_values(conf, service))
            for option, message, remedy in slips:
                yield Problem(format_path((*path, option)), message, remedy)


def _host_devices(releases: Mapping[str, MergedValues], path: DocumentPath) -> Iterator[Problem]:
    names = [name for name in ("cinder", "nova") if name in releases]
    blind = [name for name in names if not lookup(releases[name].values, ("conf", "enable_iscsi"))]
    if blind:
        yield Problem(
            format_path(("spec", "features", *path)),
            f"its driver makes devices of the host, which pods of {' and '.join(blind)} do not see",
            "leave conf.enable_iscsi out of the values of those charts",
        )


def _volume_service(releases: Mapping[str, MergedValues]) -> Iterator[Problem]:
    """What an operator's values make of cinder-volume that attaches nothing, or is in its own way."""
    cinder = releases.get("cinder")
    if cinder is None:
        return
    values = ("spec", "services", "block-storage", "cinder", "values")
    place = "set pod.useHostNetwork.volume, conf.cinder.DEFAULT.host and pod.replicas.volume: 1 beside it"
    alone = lookup(cinder.values, ("pod", "useHostNetwork", "volume"))
    if lookup(cinder.values, ("conf", "enable_iscsi")) and not alone:
        yield Problem(
            format_path((*values, "conf", "enable_iscsi")),
            "cinder-volume is not on the node's network, where its iscsid answers, and attaches nothing",
            f"{place} (docs/storage.md)",
        )
    replicas = lookup(cinder.values, ("pod", "replicas", "volume"))
    host = lookup(cinder.values, ("conf", "cinder", "DEFAULT", "host"))
    if host and isinstance(replicas, int) and replicas > 1:
        yield Problem(
            format_path((*values, "pod", "replicas", "volume")),
            f"{replicas} pods of cinder-volume have one name, {host}, and work on the same volumes",
            "leave it at 1",
        )


def _stock_images(
    releases: Mapping[str, MergedValues], tags: Iterable[tuple[str, str]], lacks: str, path: DocumentPath
) -> Iterator[Problem]:
    stock = [tag for release, tag in tags if release in releases and is_stock(releases[release], tag)]
    if stock:
        yield Problem(
            format_path(("spec", "features", *path)),
            f"OpenStack-Helm's image of {' and '.join(stock)} {lacks}",
            f"build one with it, and name it in spec.images.overrides ({', '.join(stock)})",
        )
