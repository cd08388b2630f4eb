"""A small region: three services, their charts, and what their pods do with data and credentials.

The charts have what is hard to keep: claims of a StatefulSet and claims by name, Secrets that are kept, hooks
with and without a label of their release. What they make follows from their values alone.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from controller.domain.api.names import CLOUDS_SECRET
from controller.domain.releases.bundle import BundleSpec, ChartRef, ReleaseSpec
from controller.domain.values.catalogue import CredentialSecret
from controller.domain.values.layer import Layer
from controller.domain.values.merge import merge_layers
from controller.ports.helm import HelmRequest, RenderedRelease
from controller.render.chart_builds import ChartDefaults
from controller.render.region import Region, RegionBundle, RegionRelease

NAMESPACE = "openstack"
NAME = "region-one"
KEY = (NAMESPACE, NAME)

KEPT = {"helm.sh/resource-policy": "keep"}
# By service its releases, and by release the claims that it may have.
SERVICES = {"database": ("mariadb",), "identity": ("keystone",), "image": ("glance",)}
SERVICE_OF = {release: service for service, releases in SERVICES.items() for release in releases}
NEEDS = {"keystone": ("mariadb",), "glance": ("keystone",)}
KINDS = {"database": {"root": "password"}, "identity": {"admin": "password"}}
# Secrets that pods read: what opens the database.
OPENS = {"mariadb-root": "root", "keystone-db": "root"}
TIMEOUT = 120
Object = dict[str, Any]


def reference(service: str, key: str) -> dict[str, Any]:
    return {"$secretRef": {"name": f"{service}-credentials", "key": key}}


# What each chart is given, beside what a person asks for: `colour`, `more`, `claim`, `dumps`, `takes`.
VALUES: Mapping[str, Mapping[str, Any]] = {
    "mariadb": {"root": reference("database", "root")},
    "keystone": {
        "root": reference("database", "root"),
        "admin": reference("identity", "admin"),
        "endpoints": {"identity": {"auth": {"admin": {"password": reference("identity", "admin")}}}},
    },
    "glance": {"admin": reference("identity", "admin"), "claim": True},
}


def credentials_of(osdpl: Mapping[str, Any]) -> tuple[CredentialSecret, ...]:
    """As `region_credentials` has it."""
    return tuple(
        CredentialSecret(f"{service}-credentials", service, KINDS[service], SERVICES[service])
        for service in SERVICES
        if service in KINDS and service not in disabled(osdpl)
    )


def disabled(osdpl: Mapping[str, Any]) -> tuple[str, ...]:
    services = ((osdpl.get("spec") or {}).get("features") or {}).get("services") or {}
    return tuple(services.get("disabled") or ())


def values_of(osdpl: Mapping[str, Any], release: str) -> dict[str, Any]:
    """What a person asks for of a release."""
    own = ((osdpl.get("spec") or {}).get("services") or {}).get(SERVICE_OF[release]) or {}
    return dict((own.get(release) or {}).get("values") or {})


def render(osdpl: Mapping[str, Any], charts: ChartDefaults) -> Region:
    """As the real one: bundles of releases with the values of the spec over ours."""
    volumes = (osdpl.get("spec") or {}).get("volumes") or "Retain"
    bundles = []
    for service, names in SERVICES.items():
        if service in disabled(osdpl):
            continue
        releases = []
        for name in names:
            layers = [Layer("service", VALUES[name]), Layer("services", values_of(osdpl, name))]
            merged = merge_layers({}, layers)
            spec = ReleaseSpec(
                name, NAMESPACE, ChartRef(name, path=name), merged.overlay, NEEDS.get(name, ()), TIMEOUT
            )
            releases.append(RegionRelease(spec, merged))
        desired = BundleSpec(tuple(one.spec for one in releases), volumes=volumes)
        bundles.append(RegionBundle(service, service, tuple(releases), desired))
    return Region(tuple(bundles), credentials_of(osdpl))


# -- charts


def rendered(request: HelmRequest) -> RenderedRelease:
    """What Helm makes of a chart of the region, or of a person's own."""
    chart = request.chart_path.rpartition("/")[2]
    values = request.values
    manifest, hooks = _CHARTS.get(chart, _others)(values)
    more = [_named("ConfigMap", "shared", data={"colour": "ours"})] if values.get("more") else []
    return RenderedRelease((*manifest, *more), hooks)


def _mariadb(values: Mapping[str, Any]) -> tuple[tuple[Object, ...], tuple[Object, ...]]:
    retention = {"whenDeleted": "Delete" if values.get("takes") else "Retain", "whenScaled": "Retain"}
    spec = {
        "serviceName": "mariadb",
        "replicas": values.get("replicas", 1),
        "selector": {"matchLabels": {"release_group": "mariadb"}},
        "template": {"metadata": {"labels": {"release_group": "mariadb"}}, "spec": {}},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}],
        "persistentVolumeClaimRetentionPolicy": retention,
    }
    manifest = [
        _etc("mariadb", values, mounts="mariadb-dumps" if values.get("dumps") else ""),
        _secret("mariadb-root", root=values["root"]),
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "mariadb"}, "spec": spec},
    ]
    if values.get("dumps"):
        manifest.append(_claim("mariadb-dumps"))
    return tuple(manifest), ()


def _keystone(values: Mapping[str, Any]) -> tuple[tuple[Object, ...], tuple[Object, ...]]:
    manifest = (
        _etc("keystone", values),
        _secret("keystone-db", root=values["root"]),
        _secret("keystone-admin", admin=values["admin"]),
        _secret("keystone-keys", annotations=KEPT, keys="k"),
    )
    hooks = (
        _hook(
            "keystone-bootstrap",
            "post-install,post-upgrade,post-rollback",
            labels={"release_group": "keystone"},
        ),
        _hook("keystone-check", "pre-upgrade", weight=-1),
    )
    return manifest, hooks


def _glance(values: Mapping[str, Any]) -> tuple[tuple[Object, ...], tuple[Object, ...]]:
    etc = _etc("glance", values, mounts="glance-images" if values.get("claim") else "")
    manifest = [etc, _secret("glance-admin", admin=values["admin"])]
    if values.get("claim"):
        manifest.append(_claim("glance-images"))
    hooks = (
        _hook("glance-clean", "pre-delete", policy="hook-succeeded"),
        _hook("glance-storage", "pre-install,pre-upgrade", labels={"app.kubernetes.io/instance": "glance"}),
    )
    return tuple(manifest), hooks


def _others(values: Mapping[str, Any]) -> tuple[tuple[Object, ...], tuple[Object, ...]]:
    """A chart that a person has: it has what its values name."""
    return tuple(_named("ConfigMap", name, data={"colour": "theirs"}) for name in values.get("names", ())), ()


_CHARTS = {"mariadb": _mariadb, "keystone": _keystone, "glance": _glance}


def _etc(release: str, values: Mapping[str, Any], mounts: str = "") -> Object:
    """It stands for the workload beside it, with the claim that its pods mount."""
    labels = {"release_group": release}
    data = {"colour": str(values.get("colour", "red")), **({"mounts": mounts} if mounts else {})}
    return _named("ConfigMap", f"{release}-etc", labels=labels, data=data)


def _claim(name: str) -> Object:
    """Unlike one that a person makes: what is alike is taken, by the contract."""
    return _named("PersistentVolumeClaim", name, labels={"application": name}, spec={})


def _named(kind: str, name: str, *, labels: Mapping[str, str] | None = None, **more: Any) -> Object:
    meta: Object = {"name": name, **({"labels": dict(labels)} if labels else {})}
    return {"apiVersion": "v1", "kind": kind, "metadata": meta, **more}


def _secret(name: str, *, annotations: Mapping[str, str] | None = None, **texts: str) -> Object:
    data = {key: base64.b64encode(str(text).encode()).decode() for key, text in texts.items()}
    meta = {"name": name, **({"annotations": dict(annotations)} if annotations else {})}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": "Opaque", "data": data}


def _hook(
    name: str, events: str, *, weight: int = 0, policy: str = "", labels: Mapping[str, str] | None = None
) -> Object:
    notes = {"helm.sh/hook": events, "helm.sh/hook-weight": str(weight)}
    notes |= {"helm.sh/hook-delete-policy": policy} if policy else {}
    meta = {"name": name, "annotations": notes, **({"labels": dict(labels)} if labels else {})}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": {"spec": {}}}}


# Objects of the region by the names that a person may take: kind, name and release.
NAMES = (
    ("ConfigMap", "keystone-etc", "keystone"),
    ("ConfigMap", "mariadb-etc", "mariadb"),
    ("ConfigMap", "shared", "glance"),
    ("Secret", "keystone-db", "keystone"),
    ("Secret", "keystone-keys", "keystone"),
    ("Secret", "database-credentials", ""),
    ("Secret", CLOUDS_SECRET, ""),
    ("PersistentVolumeClaim", "glance-images", "glance"),
    ("PersistentVolumeClaim", "mariadb-dumps", "mariadb"),
    ("Job", "keystone-check", "keystone"),
    ("Job", "glance-clean", "glance"),
)
