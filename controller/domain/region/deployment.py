"""OpenStackDeployment: the region that a person describes, read and checked.

Fields are those of the resource definition in `charts/openstack-controller/files/crds`, in snake_case; a
test compares the two.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from controller.domain.api.object_meta import ObjectMeta, a, parse_meta
from controller.domain.region.deployment_rules import feature_problems
from controller.domain.releases.bundle import BundleMode, DriftMode, VolumePolicy
from controller.domain.validation.crd_schema import ResourceSchema
from controller.domain.values.chart_values import Values
from controller.errors import Problem, SpecInvalid

# Kubernetes stores at most about 1.5 MB of an object, our status and the record of field owners
# included; HelmBundles made from the spec repeat parts of it.
MAX_SPEC_BYTES = 1_000_000
# No chart's values come near; what recurses over a spec stays far from Python's limit.
MAX_DEPTH = 100

OpenStackVersion = Literal["2025.1", "2025.2", "2026.1"]
Preset = Literal["core", "compute", "compute-baremetal"]
Size = Literal["single", "tiny", "small", "medium", "large"]


@dataclass(frozen=True)
class ChartsSpec:
    """Where charts come from: the image when neither `path` nor `repository` is given.

    `versions` maps chart names to exact versions; the secrets are names of Secrets, or empty.
    """

    path: str
    repository: str
    versions: Mapping[str, str]
    credentials_secret: str
    ca_secret: str


@dataclass(frozen=True)
class ImagesSpec:
    """Where images come from. `overrides` maps names of tags in chart values to whole images."""

    registry: str
    pull_policy: str
    pull_secrets: tuple[str, ...]
    overrides: Mapping[str, str]


@dataclass(frozen=True)
class ProxySpec:
    """The way out of the region; empty where there is no proxy."""

    http: str
    https: str
    no_proxy: tuple[str, ...]


@dataclass(frozen=True)
class GroupValues:
    """Values for every release of a chart group, and by release over them."""

    values: Values
    releases: Mapping[str, Values]


@dataclass(frozen=True)
class CommonSpec:
    """Values merged into many releases: into all (`charts`), or into those of one group."""

    charts: Values
    openstack: GroupValues
    infra: GroupValues


@dataclass(frozen=True)
class DeploymentSpec:
    """The region wanted, defaults applied.

    `features` has every field that the definition knows: see `ResourceSchema.completed` for what an
    unset one is. `services` is service → chart → values; `nodes` is "<label>::<value>" → service →
    chart → daemonset → values. Empty strings stand for fields that are not set.
    """

    openstack_version: OpenStackVersion
    preset: Preset
    size: Size
    region: str
    public_domain_name: str
    internal_domain_name: str
    storage_class: str
    storage_classes: Mapping[str, str]
    charts: ChartsSpec
    mode: BundleMode
    approved_plan: str
    images: ImagesSpec
    proxy: ProxySpec
    drift: DriftMode
    drift_rules: Sequence[Mapping[str, Any]]
    volumes: VolumePolicy
    features: Mapping[str, Any]
    common: CommonSpec
    services: Mapping[str, Mapping[str, Values]]
    nodes: Mapping[str, Mapping[str, Mapping[str, Mapping[str, Values]]]]


@dataclass(frozen=True, kw_only=True)
class OpenStackDeployment(ObjectMeta):
    """One region: who it is, and what is wanted of it.

    `document` is the spec as the API server stores it, defaults included: what digests are made of.
    """

    spec: DeploymentSpec
    document: Mapping[str, Any]


def parse_deployment(obj: Mapping[str, Any], schema: ResourceSchema) -> OpenStackDeployment:
    """Reads an OpenStackDeployment and checks it against its definition and our own rules.

    Raises SpecInvalid with every problem found, JSON paths and remedies. What needs the catalogue of
    services, such as whether `spec.services.compute.nvoa` exists, is checked where that is known. The
    result shares nothing with `obj`.
    """
    meta = parse_meta(obj)
    problems = _identity_problems(obj, schema)
    if isinstance(obj.get("spec"), Mapping):
        problems += _size_problems(obj["spec"])
        if problems:
            raise SpecInvalid(problems)
    defaulted = schema.defaulted(obj)
    problems += schema.problems(defaulted)
    if problems:
        raise SpecInvalid(problems)
    document: Mapping[str, Any] = defaulted["spec"]
    features = schema.completed(("spec", "features"), document.get("features"))
    problems += feature_problems(features)
    if problems:
        raise SpecInvalid(problems)
    return OpenStackDeployment(**vars(meta), spec=_spec(document, features, schema), document=document)


def _identity_problems(obj: Mapping[str, Any], schema: ResourceSchema) -> list[Problem]:
    wanted = {"apiVersion": schema.api_version, "kind": schema.kind}
    return [
        Problem(
            key, f"expected {value}", f"got {a(obj.get(key))}" if not isinstance(obj.get(key), str) else ""
        )
        for key, value in wanted.items()
        if obj.get(key) != value
    ]


def _size_problems(spec: Mapping[str, Any]) -> list[Problem]:
    if _deeper_than(spec, MAX_DEPTH):
        return [Problem("spec", f"is nested more than {MAX_DEPTH} levels deep", "write flatter values")]
    try:
        size = len(json.dumps(spec, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode())
    except (TypeError, ValueError) as error:
        return [Problem("spec", f"holds what JSON cannot: {type(error).__name__}", "use plain YAML values")]
    if size <= MAX_SPEC_BYTES:
        return []
    largest = max(spec, key=lambda key: len(json.dumps(spec[key])))
    return [
        Problem(
            "spec",
            f"is {size:,} bytes long, more than the {MAX_SPEC_BYTES:,} that fit into a Kubernetes object",
            f"most of it is in spec.{largest}; move files and long texts into ConfigMaps of your own",
        )
    ]


def _deeper_than(value: Any, levels: int) -> bool:
    """Whether maps and lists are nested deeper, endless ones included; looks at one level at a time."""
    level = [value]
    for _ in range(levels):
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, Mapping) else item)
            if isinstance(child, Mapping | list)
        ]
        if not level:
            return False
        # One object that is in several places counts once: aliases must not multiply the work.
        level = list({id(child): child for child in level}.values())
    return True


def _spec(document: Mapping[str, Any], features: Mapping[str, Any], schema: ResourceSchema) -> DeploymentSpec:
    def completed(key: str) -> Any:
        return schema.completed(("spec", key), document.get(key))

    charts, images, proxy, common = (completed(key) for key in ("charts", "images", "proxy", "common"))
    return DeploymentSpec(
        openstack_version=document["openstackVersion"],
        preset=document["preset"],
        size=document["size"],
        region=document["region"],
        public_domain_name=document["publicDomainName"],
        internal_domain_name=document["internalDomainName"],
        storage_class=document.get("storageClass", ""),
        storage_classes=completed("storageClasses"),
        charts=ChartsSpec(
            path=charts["path"] or "",
            repository=charts["repository"] or "",
            versions=charts["versions"],
            credentials_secret=charts["credentialsSecret"] or "",
            ca_secret=charts["caSecret"] or "",
        ),
        mode=document["mode"],
        approved_plan=document.get("approvedPlan", ""),
        images=ImagesSpec(
            registry=images["registry"] or "",
            pull_policy=images["pullPolicy"],
            pull_secrets=tuple(images["pullSecrets"]),
            overrides=images["overrides"],
        ),
        proxy=ProxySpec(proxy["http"] or "", proxy["https"] or "", tuple(proxy["noProxy"])),
        drift=document["drift"],
        drift_rules=document.get("driftRules", ()),
        volumes=document["volumes"],
        features=features,
        common=CommonSpec(
            charts=common["charts"]["values"],
            openstack=_group(common["openstack"]),
            infra=_group(common["infra"]),
        ),
        services=_values(completed("services")),
        nodes={
            label: {service: _values(daemonsets) for service, daemonsets in entry["services"].items()}
            for label, entry in completed("nodes").items()
        },
    )


def _group(group: Mapping[str, Any]) -> GroupValues:
    releases = {name: entry["values"] for name, entry in group["releases"].items()}
    return GroupValues(values=group["values"], releases=releases)


def _values(tree: Mapping[str, Any]) -> dict[str, Mapping[str, Values]]:
    """name → name → {values} without its last level."""
    return {
        outer: {inner: entry["values"] for inner, entry in entries.items()} for outer, entries in tree.items()
    }
