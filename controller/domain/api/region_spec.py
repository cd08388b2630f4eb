"""The typed spec of a region: the only parser of it.

Pure. An operator may pause a region while its spec has mistakes, and a Node can fail at any time. So mode,
nodes and names of Secrets are readable even if the spec cannot be served. `DeploymentSpec` of the subject
`region` extends this with fields that need a valid spec. This module is in the lowest subject, because
regions, credentials, hosts and the templates of values all read it. The defaults below repeat those of the
resource definition (`charts/openstack-controller/files/crds`), which
`controller/domain/validation/definitions/crd_defaults.py` fills in; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

BundleMode = Literal["Apply", "Plan", "Paused"]
VolumePolicy = Literal["Retain", "Delete"]

# Shown with the releases whose values or settings they are, or no wish of its own.
SHOWN_WITH_RELEASES = frozenset(
    ("common", "services", "nodes", "mode", "approvedPlan", "volumes", "drift", "driftRules")
)
# An edit of these is in force at once, also with mode Plan.
IN_FORCE_AT_ONCE = SHOWN_WITH_RELEASES | {"upgrade"}
_MODES: dict[str, BundleMode] = {word: word for word in get_args(BundleMode)}
_VOLUMES: dict[str, VolumePolicy] = {word: word for word in get_args(VolumePolicy)}


@dataclass(frozen=True, slots=True)
class SecretKey:
    """One key of a Secret in the region's namespace."""

    name: str
    key: str


@dataclass(frozen=True)
class OwnSecret(SecretKey):
    """A credential with a Secret of the operator: `spec.features.credentials`."""

    service: str
    credential: str


@dataclass(frozen=True)
class ProxySpec:
    """The region's proxy, or empty."""

    http: str = ""
    https: str = ""
    no_proxy: tuple[str, ...] = ()

    @property
    def given(self) -> bool:
        """Whether the spec sets any of it."""
        return bool(self.http or self.https or self.no_proxy)


@dataclass(frozen=True)
class PublicTLS:
    """`spec.features.tls.public`; `secret` is the operator's own with the certificate, or empty, and
    `ca_secret` one with what clients trust."""

    enabled: bool = False
    secret: str = ""
    ca_secret: str = ""


@dataclass(frozen=True)
class InternalTLS:
    """`spec.features.tls.internal`.

    `authority_secret`: the operator's authority, empty for our own; `ca_secret`: the authority of an issuer,
    which clients trust.
    """

    enabled: bool = False
    authority_secret: str = ""
    ca_secret: str = ""


@dataclass(frozen=True)
class FencingService:
    """`spec.features.nodes.fencing`; `url` may be empty."""

    url: str = ""
    token: SecretKey | None = None
    authority: SecretKey | None = None


@dataclass(frozen=True)
class NodesFeature:
    """`spec.features.nodes` as written; `node_policy` parses durations and limits."""

    evacuation: str = "Never"
    hold_down: str = "2m"
    max_unhealthy: object = "20%"
    fencing: FencingService = field(default=FencingService())


@dataclass(frozen=True)
class UpgradeSpec:
    """`spec.upgrade` as written; `upgrade_policy` parses durations and the batch."""

    gates: str = "Health"
    healthy_for: str = "30s"
    paused: bool = False
    batch: object = "10%"
    max_failed: int = 0
    by_label: str = ""
    backup_max_age: str = ""
    prepull: bool = False
    skip_checks: tuple[str, ...] = ()


@dataclass(frozen=True)
class CredentialRotationFeature:
    """`spec.features.credentialRotation` as written; `rotation.schedule` parses it.

    `every` is empty for no schedule, `start` for no window.
    """

    every: str = ""
    start: str = ""
    duration: str = ""
    days: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReadOnlyAccountFeature:
    """`spec.features.readOnlyAccount`. `project`: it also reads in the administrator's project;
    `offered_to`: the Secrets, as NAMESPACE/NAME, that may have it."""

    enabled: bool = False
    project: bool = False
    offered_to: tuple[str, ...] = ()


@dataclass(frozen=True)
class Features:
    """`spec.features`: typed fields for the controllers, and all of it as a `tree` for templates.

    In a validated spec (`DeploymentSpec`) the tree has every field of the definition, otherwise only the
    written ones. `amphora_secret`: the operator's Secret with certificates for amphorae, or empty.
    """

    tree: Mapping[str, Any] = field(default_factory=dict)
    nodes: NodesFeature = field(default=NodesFeature())
    public_tls: PublicTLS = field(default=PublicTLS())
    internal_tls: InternalTLS = field(default=InternalTLS())
    amphora_secret: str = ""
    credentials: tuple[OwnSecret, ...] = ()
    credential_rotation: CredentialRotationFeature = field(default=CredentialRotationFeature())
    read_only_account: ReadOnlyAccountFeature = field(default=ReadOnlyAccountFeature())


@dataclass(frozen=True, kw_only=True)
class RegionSpec:
    """The main fields of a region's spec; a missing required field is empty."""

    openstack_version: str = ""
    preset: str = ""
    size: str = ""
    region: str = "RegionOne"
    public_domain_name: str = ""
    internal_domain_name: str = "cluster.local"
    storage_class: str = ""
    storage_classes: Mapping[str, str] = field(default_factory=dict)
    mode: BundleMode = "Apply"
    approved_plan: str = ""
    proxy: ProxySpec = field(default=ProxySpec())
    volumes: VolumePolicy = "Retain"
    upgrade: UpgradeSpec = field(default=UpgradeSpec())
    features: Features = field(default_factory=Features)

    @property
    def paused(self) -> bool:
        """Whether nothing may be changed."""
        return self.mode == "Paused"

    @property
    def planned(self) -> bool:
        """Whether the spec is only planned until an approval."""
        return self.mode == "Plan"


def parse_region_spec(spec: Mapping[str, Any] | None) -> RegionSpec:
    """Parses a spec, or None; raises nothing.

    Wrong types and unknown words, which no API server stores, count as not set.
    """
    given = _map(spec)
    return RegionSpec(
        openstack_version=_text(given, "openstackVersion"),
        preset=_text(given, "preset"),
        size=_text(given, "size"),
        region=_text(given, "region") or RegionSpec.region,
        public_domain_name=_text(given, "publicDomainName"),
        internal_domain_name=_text(given, "internalDomainName") or RegionSpec.internal_domain_name,
        storage_class=_text(given, "storageClass"),
        storage_classes={str(name): str(value) for name, value in _map(given.get("storageClasses")).items()},
        mode=_MODES.get(_text(given, "mode"), RegionSpec.mode),
        approved_plan=_text(given, "approvedPlan"),
        proxy=_proxy(_map(given.get("proxy"))),
        volumes=_VOLUMES.get(_text(given, "volumes"), RegionSpec.volumes),
        upgrade=_upgrade(_map(given.get("upgrade"))),
        features=parse_features(given.get("features")),
    )


def parse_features(features: Mapping[str, Any] | None) -> Features:
    """Parses `spec.features`, written or completed; raises nothing."""
    given = _map(features)
    nodes, tls = _map(given.get("nodes")), _map(given.get("tls"))
    public, internal = _map(tls.get("public")), _map(tls.get("internal"))
    limit = nodes.get("maxUnhealthy")
    return Features(
        tree=given,
        nodes=NodesFeature(
            evacuation=_text(nodes, "evacuation") or NodesFeature.evacuation,
            hold_down=_text(nodes, "holdDown") or NodesFeature.hold_down,
            max_unhealthy=NodesFeature.max_unhealthy if limit is None else limit,
            fencing=_fencing(_map(nodes.get("fencing"))),
        ),
        public_tls=PublicTLS(
            bool(public.get("enabled")), _text(public, "secretName"), _text(public, "caSecret")
        ),
        internal_tls=InternalTLS(
            bool(internal.get("enabled")), _text(internal, "authoritySecret"), _text(internal, "caSecret")
        ),
        amphora_secret=_amphora_secret(_map(given.get("loadBalancer")), _map(given.get("services"))),
        credentials=_own_secrets(_map(given.get("credentials"))),
        credential_rotation=_credential_rotation(_map(given.get("credentialRotation"))),
        read_only_account=_read_only_account(_map(given.get("readOnlyAccount"))),
    )


def _proxy(given: Mapping[str, Any]) -> ProxySpec:
    listed = given.get("noProxy")
    direct = tuple(map(str, listed)) if isinstance(listed, list) else ()
    return ProxySpec(_text(given, "http"), _text(given, "https"), direct)


def _upgrade(given: Mapping[str, Any]) -> UpgradeSpec:
    computes = _map(given.get("computes"))
    batch, failed, skipped = computes.get("batch"), computes.get("maxFailed"), given.get("skipChecks")
    return UpgradeSpec(
        gates=_text(given, "gates") or UpgradeSpec.gates,
        healthy_for=_text(given, "healthyFor") or UpgradeSpec.healthy_for,
        paused=given.get("paused") is True,
        batch=UpgradeSpec.batch if batch is None else batch,
        max_failed=failed
        if isinstance(failed, int) and not isinstance(failed, bool)
        else UpgradeSpec.max_failed,
        by_label=_text(computes, "byLabel"),
        backup_max_age=_text(given, "backupMaxAge"),
        prepull=given.get("prepull") is True,
        skip_checks=tuple(map(str, skipped)) if isinstance(skipped, list) else (),
    )


def _credential_rotation(given: Mapping[str, Any]) -> CredentialRotationFeature:
    window = _map(given.get("window"))
    days = window.get("days")
    return CredentialRotationFeature(
        _text(given, "every"),
        _text(window, "start"),
        _text(window, "duration"),
        tuple(map(str, days)) if isinstance(days, list) else (),
    )


def fields_in(spec: object) -> dict[str, Any]:
    """The fields of a spec that wait for an approval with mode Plan, without values of releases."""
    return {key: value for key, value in _map(spec).items() if key not in IN_FORCE_AT_ONCE}


def spec_in_force(osdpl: Mapping[str, Any]) -> dict[str, Any]:
    """The spec that is acted upon. With mode Plan its fields are those that were approved last: an edit of
    them waits with the rest of its plan."""
    spec = dict(_map(osdpl.get("spec")))
    applied = _map(osdpl.get("status")).get("appliedFields")
    if spec.get("mode") != "Plan" or not isinstance(applied, Mapping):
        return spec
    return {key: value for key, value in spec.items() if key in IN_FORCE_AT_ONCE} | dict(applied)


def _read_only_account(given: Mapping[str, Any]) -> ReadOnlyAccountFeature:
    listed = given.get("offeredTo")
    places = tuple(one for one in listed if isinstance(one, str)) if isinstance(listed, list) else ()
    return ReadOnlyAccountFeature(given.get("enabled") is True, given.get("project") is True, places)


def _fencing(given: Mapping[str, Any]) -> FencingService:
    return FencingService(
        _text(given, "url"), _secret_key(given.get("tokenFrom")), _secret_key(given.get("authorityFrom"))
    )


def _amphora_secret(given: Mapping[str, Any], services: Mapping[str, Any]) -> str:
    enabled = services.get("enabled")
    # No preset has the service.
    there = isinstance(enabled, list) and "load-balancer" in enabled
    return _text(given, "certificatesSecret") if there and _text(given, "provider") != "ovn" else ""


def _secret_key(given: object) -> SecretKey | None:
    there = _map(given)
    return SecretKey(_text(there, "name"), _text(there, "key")) if there else None


def _own_secrets(by_service: Mapping[str, Any]) -> tuple[OwnSecret, ...]:
    """In order. The definition refuses incomplete entries."""
    return tuple(
        OwnSecret(
            name=_text(_map(target), "name"),
            key=_text(_map(target), "key"),
            service=str(service),
            credential=str(credential),
        )
        for service, credentials in sorted(by_service.items())
        for credential, target in sorted(_map(credentials).items())
    )


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key)
    return value if isinstance(value, str) else ""
