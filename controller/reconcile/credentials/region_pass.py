"""What one pass over the credentials of a region works on: the region as it was read, and its needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from controller.domain.api.names import DEPLOYMENT_LABEL, SERVICE_LABEL
from controller.domain.api.region_spec import (
    CredentialRotationFeature,
    Features,
    RegionSpec,
    VolumePolicy,
    parse_region_spec,
    spec_in_force,
)
from controller.domain.region.plan_approval import awaits_approval
from controller.domain.values.catalogue import CertificateRequest, CredentialSecret
from controller.domain.values.ceph_needs import CephNeeds
from controller.domain.values.option_files import OptionFiles
from controller.ports.helm import ReleaseRecords
from controller.ports.kubernetes import HELMBUNDLE, Events, Kube, KubeObject, KubeObjects
from controller.ports.system import Clock, Randomness
from controller.reconcile.credentials.store import CredentialStore
from controller.reconcile.shared.remaining_claims import credentials_policy

HELD = "the region is paused, or its plan is not approved"


@dataclass(frozen=True)
class SecretsPorts:
    """The world as credentials need it. `records` are Helm's; `digest_key` gives the installation's key for
    published digests; `option_files` are those of charts."""

    kube: Kube
    clock: Clock
    randomness: Randomness
    events: Events
    records: ReleaseRecords
    digest_key: Callable[[], bytes]
    option_files: OptionFiles


@dataclass(frozen=True)
class RegionNeeds:
    """What a region asks for: the Secrets with credentials, the certificates of its own authority, and what
    it exchanges with a Ceph cluster, None for nothing."""

    credentials: tuple[CredentialSecret, ...] = ()
    certificates: tuple[CertificateRequest, ...] = ()
    ceph: CephNeeds | None = None


@dataclass(frozen=True)
class RegionPass:
    """One pass over the region of a `namespace`, with the `features` of its spec, defaults included.

    `read_only`: the region is paused, or its plan is not approved; only owners change then. `policy`: what
    becomes of the credentials of a region that goes. `rotation`: the schedule that is in force, which with
    mode Plan is the approved one.
    """

    osdpl: KubeObject
    namespace: str
    features: Features
    bundles: KubeObjects
    store: CredentialStore
    digest_key: Callable[[], bytes]
    rotation: CredentialRotationFeature
    needs: RegionNeeds = field(default_factory=RegionNeeds)
    read_only: bool = False
    paused: bool = False
    policy: VolumePolicy = "Retain"

    @cached_property
    def services(self) -> frozenset[str]:
        """Those that have a HelmBundle."""
        return frozenset(str(bundle["metadata"]["labels"][SERVICE_LABEL]) for bundle in self.bundles)

    @property
    def held(self) -> str:
        """Why nothing may be changed now; empty where it may."""
        return HELD if self.read_only else ""

    def digest(self, name: str) -> str:
        """What is published of a Secret; empty when it is not there."""
        return self.store.digest(name, self.digest_key())


def begin_pass(ports: SecretsPorts, osdpl: KubeObject, *, removal: bool = False) -> RegionPass:
    """A pass over the region as it is now, before anything is known of its needs. The spec is read here, and
    by no step again. Raises KubeError."""
    meta, spec = osdpl["metadata"], parse_region_spec(osdpl.get("spec"))
    namespace, labels = str(meta["namespace"]), f"{DEPLOYMENT_LABEL}={meta['name']},{SERVICE_LABEL}"
    return RegionPass(
        osdpl,
        namespace,
        spec.features,
        ports.kube.list(HELMBUNDLE, namespace, labels=labels),
        CredentialStore(ports.kube, ports.randomness, osdpl, ports.digest_key),
        ports.digest_key,
        _in_force(osdpl, spec).features.credential_rotation,
        read_only=awaits_approval(osdpl, spec),
        paused=spec.paused,
        policy=credentials_policy(ports.kube, namespace, spec.volumes) if removal else "Retain",
    )


def _in_force(osdpl: KubeObject, spec: RegionSpec) -> RegionSpec:
    """The spec that is acted upon: only a plan that waits for its approval is another one."""
    fields = spec_in_force(osdpl)
    return spec if fields == osdpl.get("spec") else parse_region_spec(fields)
