"""OpenStackDeployment: the region that a person describes, read and checked.

Fields are those of the resource definition in `charts/openstack-controller/files/crds`, in snake_case; a
test compares the two.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from controller.domain.api.object_meta import ObjectMeta, a, parse_meta
from controller.domain.api.region_spec import RegionSpec, parse_region_spec
from controller.domain.api.spec_rules import definition as rules
from controller.domain.region.deployment_rules import feature_problems
from controller.domain.region.tls_features import with_default_traffic
from controller.domain.releases.bundle import DriftMode
from controller.domain.releases.drift.ignore_rules import DriftRule, drift_rules
from controller.domain.shared.nesting import deeper_than
from controller.domain.validation.definitions.crd_schema import ResourceSchema
from controller.domain.validation.spec.ports import address_problems
from controller.domain.validation.spec.spec_names import name_problems
from controller.domain.values.catalogue import EMBEDDED, UPSTREAM
from controller.domain.values.images import ImagesSpec
from controller.domain.values.shipped_values import FileChoice
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

    @property
    def source(self) -> str:
        """EMBEDDED for the charts of the image, UPSTREAM for those of a repository or another directory."""
        return UPSTREAM if self.repository or self.path else EMBEDDED


@dataclass(frozen=True, kw_only=True)
class DeploymentSpec(RegionSpec):
    """The region wanted: the reading of a spec without mistakes, defaults applied.

    The tree of `features` has every field that the definition knows: see `ResourceSchema.completed` for what
    an unset one is. Empty strings stand for fields that are not set. Not here are `common`, `services` and
    `nodes`: those are layers of values, read from the document with the place of each (`SpecSource`).
    """

    charts: ChartsSpec
    images: ImagesSpec
    drift: DriftMode
    drift_rules: tuple[DriftRule, ...]

    @property
    def files(self) -> FileChoice:
        """Which of our own values lie below those of the spec."""
        return FileChoice(self.openstack_version, self.preset, self.size)


@dataclass(frozen=True, kw_only=True)
class OpenStackDeployment(ObjectMeta):
    """One region: who it is, and what is desired of it.

    `document` is the spec as the API server stores it, defaults included: layers of values and digests are
    made of it, and everything else of `spec`.
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
    features = with_default_traffic(schema.completed(("spec", "features"), document.get("features")))
    problems += [*name_problems(document), *address_problems(document), *feature_problems(features)]
    if problems:
        raise SpecInvalid(problems)
    return OpenStackDeployment(**vars(meta), spec=_spec(document, features, schema), document=document)


def _identity_problems(obj: Mapping[str, Any], schema: ResourceSchema) -> list[Problem]:
    desired = {"apiVersion": schema.api_version, "kind": schema.kind}
    return [
        rules.WRONG_KIND.at(
            key,
            wanted=value,
            suggestion=f"got {a(obj.get(key))}" if not isinstance(obj.get(key), str) else "",
        )
        for key, value in desired.items()
        if obj.get(key) != value
    ]


def _size_problems(spec: Mapping[str, Any]) -> list[Problem]:
    if deeper_than(spec, MAX_DEPTH):
        return [rules.SPEC_TOO_DEEP.at("spec")]
    try:
        size = len(json.dumps(spec, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode())
    except (TypeError, ValueError) as error:
        return [rules.SPEC_NOT_JSON.at("spec", name=type(error).__name__)]
    if size <= MAX_SPEC_BYTES:
        return []
    largest = max(spec, key=lambda key: len(json.dumps(spec[key])))
    return [rules.SPEC_TOO_LARGE.at("spec", size=size, max_spec_bytes=MAX_SPEC_BYTES, largest=largest)]


def _spec(document: Mapping[str, Any], features: Mapping[str, Any], schema: ResourceSchema) -> DeploymentSpec:
    def completed(key: str) -> Any:
        return schema.completed(("spec", key), document.get(key))

    charts, images = completed("charts"), completed("images")
    return DeploymentSpec(
        **vars(parse_region_spec({**document, "features": features})),
        charts=ChartsSpec(
            path=charts["path"] or "",
            repository=charts["repository"] or "",
            versions=charts["versions"],
            credentials_secret=charts["credentialsSecret"] or "",
            ca_secret=charts["caSecret"] or "",
        ),
        images=ImagesSpec(
            registry=images["registry"] or "",
            pull_policy=images["pullPolicy"],
            pull_secrets=tuple(images["pullSecrets"]),
            overrides=images["overrides"],
        ),
        drift=document["drift"],
        drift_rules=drift_rules(document.get("driftRules")),
    )
