"""What one pass over the credentials of a region works on: the region as it was read, and what it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from controller.domain.api.region_spec import Features, VolumePolicy, parse_region_spec
from controller.domain.values.catalogue import CertificateRequest, CredentialSecret
from controller.domain.values.ceph_needs import CephNeeds
from controller.domain.values.option_files import OptionFiles
from controller.ports.helm import ReleaseRecords
from controller.ports.kubernetes import Events, Kube, KubeObject, KubeObjects
from controller.ports.system import Clock, Randomness
from controller.reconcile.credentials.region_facts import bundles_of, features_of, services_of
from controller.reconcile.credentials.store import CredentialStore

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
    """One pass. `read_only`: the region is paused, or its plan is not approved; only owners change then.
    `policy`: what becomes of the credentials of a region that goes."""

    osdpl: KubeObject
    bundles: KubeObjects
    store: CredentialStore
    needs: RegionNeeds
    digest_key: Callable[[], bytes]
    read_only: bool = False
    policy: VolumePolicy = "Retain"

    @property
    def namespace(self) -> str:
        """That of the region."""
        return str(self.osdpl["metadata"]["namespace"])

    @cached_property
    def features(self) -> Features:
        """As the spec has them, with defaults."""
        return features_of(self.osdpl)

    @cached_property
    def services(self) -> frozenset[str]:
        """Those that have a HelmBundle."""
        return services_of(self.bundles)

    @property
    def held(self) -> str:
        """Why nothing may be changed now; empty where it may."""
        return HELD if self.read_only else ""

    @property
    def paused(self) -> bool:
        """Whether the spec has the region paused."""
        return parse_region_spec(self.osdpl.get("spec")).paused

    def digest(self, name: str) -> str:
        """What is published of a Secret; empty when it is not there."""
        return self.store.digest(name, self.digest_key())


def begin_pass(
    ports: SecretsPorts,
    osdpl: KubeObject,
    needs: RegionNeeds,
    *,
    read_only: bool = False,
    policy: VolumePolicy = "Retain",
) -> RegionPass:
    """A pass over the region as it is now. Raises KubeError."""
    store = CredentialStore(ports.kube, ports.randomness, osdpl, ports.digest_key)
    bundles = bundles_of(ports.kube, osdpl)
    return RegionPass(osdpl, bundles, store, needs, ports.digest_key, read_only, policy)
