"""The steps of a pass over the credentials of a region: their order, and what each of them publishes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, TypeVar

from controller.domain.credentials.credential_plan import CredentialProblem
from controller.domain.credentials.credential_warnings import CredentialDoubt
from controller.domain.credentials.rotation.record import RotationView
from controller.domain.credentials.rotation.schedule import RotationTimes
from controller.domain.credentials.secret_status import SecretView
from controller.reconcile.credentials.region_pass import RegionPass

# Seconds until a pass that what is missing may have come for: an operator's own Secret may come at any time,
# and no event announces it. Secrets are not watched, since Helm's releases are Secrets too and come at every
# revision with all their bulk.
SOON_SECONDS = 5.0
# Seconds from one look at another namespace to the next: no event announces what changes there.
ELSEWHERE_SECONDS = 30.0

Observed = TypeVar("Observed")
Decided = TypeVar("Decided")
Fact = TypeVar("Fact")


class Step(StrEnum):
    """One part of a pass. Their order is that in which they come: each finds what those before wrote."""

    OWNERS = "Owners"
    """`ExchangedOwners`: the first, as what an OpenStackDeployment owns is lost together with it."""
    EXCHANGE = "Exchange"
    """`SecretExchange`: what another namespace gives may be what a later step would miss."""
    HISTORY = "History"
    """`CredentialHistory`: which Secrets there are and were; before any of them is written."""
    ROTATION_RECORDS = "RotationRecords"
    """`RotationRecall`: before recovery, as a rotation knows which text of a lost key is right."""
    RECOVERY = "Recovery"
    """`LostCredentials`: what was lost comes back before anything is made beside it."""
    DISOWNING = "Disowning"
    """`Disowning`: while nothing is made, no osdpl owns credentials all the same."""
    GENERATION = "Generation"
    """`Generation`: what was never there is made."""
    ROTATION = "Rotation"
    """`CredentialRotation`: replaces what is complete, the first passwords too."""
    READERS = "Readers"
    """`ReadOnlyAccount`: works with the administrator's password, which a rotation may have replaced."""
    TEXTS = "Texts"
    """`CredentialTexts`: publishes what Secrets say, once those before have written them."""
    CERTIFICATES = "Certificates"
    """`OwnCertificates`: the certificates of the region's own authority."""
    AMPHORAE = "Amphorae"
    """`AmphoraCertificates`: the key of their authority is under a passphrase of the generation."""
    REGISTER = "Register"
    """`RegisterEntry`: notes what there is once all of it was made."""
    CLOUDS = "Clouds"
    """`CloudsExport`: has the administrator's password and the bundle of the certificates."""
    CEPH_REQUEST = "CephRequest"
    """`CephRequest`: before it is looked at what Ceph offers, which may be the answer."""
    CEPH = "Ceph"
    """`CephExchange`: takes what is offered."""
    CERTIFICATE_ENDS = "CertificateEnds"
    """`CertificateEnds`: the last, so that certificates of this pass count."""


# While the spec cannot be read nothing is made or removed.
WITHOUT_SPEC = (Step.OWNERS, Step.DISOWNING)

# In which order steps take back what they made, with the region. The readers' account goes while its
# Keystone answers. Credentials go after whatever was made with them: with the last of them the region goes.
REMOVAL = (
    Step.READERS,
    Step.CLOUDS,
    Step.CERTIFICATES,
    Step.CEPH,
    Step.EXCHANGE,
    Step.GENERATION,
    Step.REGISTER,
    Step.AMPHORAE,
)


@dataclass(frozen=True)
class Published:
    """What steps of a pass have come to. `problems` keep the region from being complete; `notes` and `doubts`
    are published as well.

    `views`: the Secrets as `status.secrets` has them, `certificates` those whose certificate ends, by name;
    `rotations` and `times`: how far the rotations of Secrets are, and when they come. `later`: how many
    Secrets are made once the spec is acted upon. `again`: seconds until the next pass that no event
    announces. `facts`: what else later steps have to know.
    """

    problems: tuple[CredentialProblem, ...] = ()
    notes: tuple[str, ...] = ()
    doubts: tuple[CredentialDoubt, ...] = ()
    views: Mapping[str, SecretView] = field(default_factory=dict)
    certificates: Mapping[str, SecretView] = field(default_factory=dict)
    rotations: Mapping[str, RotationView] = field(default_factory=dict)
    times: Mapping[str, RotationTimes] = field(default_factory=dict)
    later: int = 0
    again: float = math.inf
    facts: tuple[object, ...] = ()

    def fact(self, kind: type[Fact]) -> Fact | None:
        """The last of this kind; None where no step has published one."""
        return next((one for one in reversed(self.facts) if isinstance(one, kind)), None)

    def all_facts(self, kind: type[Fact]) -> tuple[Fact, ...]:
        """All of this kind, in the order in which they were published."""
        return tuple(one for one in self.facts if isinstance(one, kind))

    def joined(self, more: Published) -> Published:
        """This, and what the next step has come to."""
        return Published(
            (*self.problems, *more.problems),
            (*self.notes, *more.notes),
            (*self.doubts, *more.doubts),
            {**self.views, **more.views},
            {**self.certificates, **more.certificates},
            {**self.rotations, **more.rotations},
            {**self.times, **more.times},
            self.later + more.later,
            min(self.again, more.again),
            (*self.facts, *more.facts),
        )


class CredentialStep(ABC, Generic[Observed, Decided]):
    """One step: it looks, decides, and writes. Each method raises Conflict, KubeError."""

    @abstractmethod
    def observe(self, work: RegionPass, before: Published) -> Observed | None:
        """Reads what the step has to know; None where there is nothing for it to do. `before`: what the
        steps before have come to."""

    @abstractmethod
    def decide(self, work: RegionPass, observed: Observed) -> Decided:
        """What is to be done. Reads and writes nothing."""

    @abstractmethod
    def apply(self, work: RegionPass, decided: Decided) -> Published:
        """Writes what differs, and gives what is published of it."""

    def remove(self, work: RegionPass) -> None:
        """Takes back what the step has made, with the region. `work.bundles` are those that are left."""


Steps = Mapping[Step, CredentialStep[Any, Any]]


def run_steps(steps: Steps, work: RegionPass, names: Iterable[Step] = tuple(Step)) -> Published:
    """Takes the steps that there are, in the order of `names`. Raises Conflict, KubeError."""
    found = Published()
    for name in names:
        step = steps.get(name)
        observed = step.observe(work, found) if step is not None else None
        if step is not None and observed is not None:
            found = found.joined(step.apply(work, step.decide(work, observed)))
    return found
