"""Fields of a spec that have no effect, because what they belong to is off or not in the region. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.spec_rules import effects as rules
from controller.domain.values.chart_values import Path, format_path, lookup
from controller.errors import Problem


@dataclass(frozen=True)
class Owner:
    """What fields belong to: a switch or a choice of the spec, or a service. `words` is how to set it."""

    words: str
    holds: Callable[[Mapping[str, Any], Collection[str]], bool]


def _on(path: str, value: Any = True) -> Owner:
    keys = tuple(path.split("."))
    what = "true" if value is True else value
    return Owner(f"spec.features.{path}: {what}", lambda tree, _: lookup(tree, keys) == value)


def _given(path: str) -> Owner:
    keys = tuple(path.split("."))
    return Owner(f"spec.features.{path}", lambda tree, _: bool(lookup(tree, keys)))


def _service(name: str) -> Owner:
    return Owner(f'service "{name}" in spec.features.services.enabled', lambda _, services: name in services)


def _own_server(name: str) -> Owner:
    return Owner(
        f"servers of the region: spec.features.{name}.external is set",
        lambda tree, _: not tree[name]["external"],
    )


_NOTIFIES = Owner(
    "spec.features.messaging.notifications.enabled: true, or service metering",
    lambda tree, services: tree["messaging"]["notifications"]["enabled"] or "metering" in services,
)
_AGENTS = _on("networking.backend", "ml2/ovs")
_BACKUPS = _on("database.backup.enabled")
_POLICIES = _on("networkPolicies.enabled")
_READER = _on("readOnlyAccount.enabled")
_EVACUATION = _on("nodes.evacuation", "Auto")
_VOLUME_BACKUPS = _on("blockStorage.backup.enabled")
_SIGNED = _on("tls.internal.enabled")
# The fields, below spec.features, each with what it needs.
NEEDS: Mapping[str, tuple[Owner, ...]] = {
    "audit.services": (_on("audit.enabled"),),
    "baremetal": (_service("baremetal"),),
    "blockStorage": (_service("block-storage"),),
    "blockStorage.backup.conf": (_VOLUME_BACKUPS,),
    "blockStorage.backup.driver": (_VOLUME_BACKUPS,),
    "blockStorage.backup.pool": (_VOLUME_BACKUPS, _on("blockStorage.backup.driver", "ceph")),
    "blockStorage.backup.share": (_VOLUME_BACKUPS,),
    "ceph.namespace": (_given("ceph.source"),),
    "ceph.objectStorage": (_service("object-storage"),),
    "ceph.pools": (_given("ceph.request"),),
    "credentialRotation.window": (_given("credentialRotation.every"),),
    "dashboard": (_service("dashboard"),),
    "database.backup": (_own_server("database"),),
    "database.backup.keepDays": (_BACKUPS,),
    "database.backup.schedule": (_BACKUPS,),
    "database.backup.storageClass": (_BACKUPS,),
    "database.backup.volumeSize": (_BACKUPS,),
    "database.volumeSize": (_own_server("database"),),
    "gateway": (_service("gateway"),),
    "identity.federation.directives": (_given("identity.federation.providers"),),
    "keyManager": (_service("key-manager"),),
    "loadBalancer": (_service("load-balancer"),),
    "messaging.dedicatedBrokers": (_own_server("messaging"),),
    "messaging.notifications.topics": (_NOTIFIES,),
    "messaging.volumeSize": (_own_server("messaging"),),
    "metering": (_service("metering"),),
    "metering.gnocchi.pool": (_on("metering.gnocchi.enabled"),),
    "metering.gnocchi.user": (_on("metering.gnocchi.enabled"),),
    "networkPolicies.controllerNamespace": (_POLICIES,),
    "networkPolicies.monitoring": (_POLICIES,),
    "networkPolicies.nodeNetworks": (_POLICIES,),
    "networking.dhcpAgentsPerNetwork": (_AGENTS,),
    "networking.firewallDriver": (_AGENTS,),
    "networking.routerHA": (_AGENTS,),
    **{
        f"networking.floatingNetwork.{name}": (_on("networking.floatingNetwork.enabled"),)
        for name in ("name", "physicalNetwork", "networkType", "segmentationID", "subnet", "router")
    },
    "nodes.fencing": (_EVACUATION,),
    "readOnlyAccount.offeredTo": (_READER,),
    "readOnlyAccount.project": (_READER,),
    **{f"tls.internal.{name}": (_SIGNED,) for name in ("authoritySecret", "caSecret", "issuer", "traffic")},
    **{f"tls.public.{name}": (_on("tls.public.enabled"),) for name in ("secretName", "issuer", "caSecret")},
}
# What the API server writes into a field of these that is not given.
DEFAULTS: Mapping[str, Any] = {
    "blockStorage.backup.pool": "backups",
    "database.backup.keepDays": 7,
    "database.backup.schedule": "0 1 * * *",
    "database.backup.volumeSize": "20Gi",
    "database.volumeSize": "50Gi",
    "messaging.notifications.topics": ["notifications"],
    "metering.gnocchi.pool": "gnocchi.metrics",
    "metering.gnocchi.user": "gnocchi",
    "networkPolicies.controllerNamespace": "openstack-controller",
    "networking.firewallDriver": "openvswitch",
    "networking.floatingNetwork.name": "public",
    "networking.floatingNetwork.networkType": "flat",
}


def idle_fields(
    document: Mapping[str, Any], features: Mapping[str, Any], services: Collection[str]
) -> Iterator[Problem]:
    """A warning for each. `document` is the spec as it is written, `features` with all defaults."""
    told: list[Path] = []
    for text, owners in NEEDS.items():
        path: Path = ("features", *text.split("."))
        value = lookup(document, path)
        if not value or value == DEFAULTS.get(text) or any(path[: len(one)] == one for one in told):
            continue
        for owner in owners:
            if not owner.holds(features, services):
                told.append(path)
                yield _problem(path, owner.words)
                break
    if lookup(document, ("approvedPlan",)) and lookup(document, ("mode",)) != "Plan":
        yield _problem(("approvedPlan",), "spec.mode: Plan")


def _problem(path: Path, words: str) -> Problem:
    return rules.FIELD_WITHOUT_EFFECT.at(format_path(("spec", *path)), needs=words)
