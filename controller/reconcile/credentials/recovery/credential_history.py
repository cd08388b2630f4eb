"""Which credentials a region is known to have had: from its status, its register, and what is left of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from controller.domain.api.names import AMPHORA_SECRET, CLIENT_AUTHORITY_SECRET, SERVER_AUTHORITY_SECRET
from controller.domain.credentials.credential_plan import EarlierLife, StoredSecret
from controller.domain.credentials.readers import READER_CREDENTIALS
from controller.domain.credentials.recovery.credential_traces import (
    Memory,
    NotedCredentials,
    Sign,
    Traces,
    joined,
    remembered,
    sign_of,
    without_knowledge,
)
from controller.domain.credentials.secret_status import recorded_keys
from controller.domain.shared.times import seconds_of
from controller.ports.helm import ReleaseRecords
from controller.ports.kubernetes import PVC, STATEFULSET, Kube
from controller.reconcile.credentials.certificates.certificate_uptake import used_by_installed
from controller.reconcile.credentials.recovery.credential_register import CredentialRegister
from controller.reconcile.credentials.region_pass import RegionPass
from controller.reconcile.credentials.steps import CredentialStep, Published
from controller.reconcile.shared.remaining_claims import credentials_name, releases_with_kept_claims

# The Secrets between Octavia and its amphorae: their content cannot be made again either.
_OF_AMPHORAE = (SERVER_AUTHORITY_SECRET, CLIENT_AUTHORITY_SECRET, AMPHORA_SECRET)


@dataclass(frozen=True)
class _Read:
    """The register as it was read, and all traces."""

    register: CredentialRegister
    traces: Traces


@dataclass(frozen=True)
class Remembered:
    """What is known, and the register in which it is noted at the end of the pass."""

    register: CredentialRegister
    memory: Memory


class CredentialHistory(CredentialStep[_Read, Remembered]):
    """`Step.HISTORY`: reads which Secrets there are, too."""

    def __init__(self, kube: Kube, records: ReleaseRecords) -> None:
        self._kube = kube
        self._records = records

    def observe(self, work: RegionPass, before: Published) -> _Read:
        """Looks at what lives of the region only where register and status do not tell enough."""
        desired = work.needs.credentials
        more = (READER_CREDENTIALS,) if work.features.read_only_account.enabled else ()
        stored = work.store.observe((*(secret.name for secret in desired), *more))
        register = CredentialRegister(self._kube, work.namespace, str(work.osdpl["metadata"]["name"]))
        noted, recorded = register.read(), recorded_keys(work.osdpl.get("status") or {})
        if noted is not None and noted.complete and not without_knowledge(desired, stored, recorded):
            return _Read(register, Traces(recorded, noted))
        signs = tuple(self._signs(work))
        if not signs:
            return _Read(register, Traces(recorded, noted, signs))
        kept = releases_with_kept_claims(self._kube, work.namespace)
        earlier = EarlierLife(used_by_installed(work.bundles), kept)
        begun = seconds_of(work.osdpl["metadata"].get("creationTimestamp"))
        return _Read(register, Traces(recorded, noted, signs, earlier, begun))

    def decide(self, work: RegionPass, observed: _Read) -> Remembered:
        """What the traces come to."""
        memory = remembered(observed.traces, work.needs.credentials, work.store.stored())
        return Remembered(observed.register, memory)

    def apply(self, work: RegionPass, decided: Remembered) -> Published:
        """Writes nothing: later steps ask for it."""
        return Published(facts=(decided.memory.known, decided))

    def _signs(self, work: RegionPass) -> Iterator[Sign]:
        """All that is left of the region's releases, or runs. Raises KubeError."""
        releases = {name for secret in work.needs.credentials for name in secret.releases}
        releases |= {
            str(one.get("name"))
            for bundle in work.bundles
            for one in (bundle.get("spec") or {}).get("releases") or ()
        }
        for resource in (PVC, STATEFULSET):
            for one in self._kube.list_metadata(resource, work.namespace):
                sign = sign_of(resource.kind, one["metadata"], releases)
                if sign is not None:
                    yield sign
        histories = self._records.observe(work.namespace, releases=releases) if releases else {}
        for name, history in histories.items():
            made = [revision.created for revision in history if revision.bundle]
            if made:
                yield Sign(f"Helm's record of release {name}", min(made))
        for bundle in work.bundles:
            if any(one.get("revision") for one in (bundle.get("status") or {}).get("releases") or ()):
                meta = bundle["metadata"]
                yield Sign(f"HelmBundle {meta['name']}", seconds_of(meta.get("creationTimestamp")))


class RegisterEntry(CredentialStep[Remembered, Remembered]):
    """`Step.REGISTER`: has the region remembered what it has by now."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    def observe(self, work: RegionPass, before: Published) -> Remembered | None:
        """What the region is known to have had, with what is published of its authorities for amphorae."""
        found = before.fact(Remembered)
        if found is None or found.memory.noted is None or work.read_only:
            return None
        made = {name: before.views[name].keys for name in _OF_AMPHORAE if name in before.views}
        keys = joined(found.memory.had, made)
        return replace(found, memory=replace(found.memory, had=keys))

    def decide(self, work: RegionPass, observed: Remembered) -> Remembered:
        """What is noted, with what there is."""
        memory, stored = observed.memory, work.store.stored().values()
        noted = memory.noted or NotedCredentials()
        there = {one.name: one.keys for one in stored if _is_credentials(one)}
        keys = joined(joined(noted.keys, memory.had), there)
        return replace(observed, memory=replace(memory, noted=replace(noted, keys=keys)))

    def apply(self, work: RegionPass, decided: Remembered) -> Published:
        """Writes the register where it differs."""
        noted = decided.memory.noted
        return Published(tuple(decided.register.write(noted)) if noted is not None else ())

    def remove(self, work: RegionPass) -> None:
        """Forgets the region once its credentials are gone."""
        if work.policy == "Delete" and not (work.bundles or work.store.marked):
            CredentialRegister(self._kube, work.namespace, str(work.osdpl["metadata"]["name"])).remove()


def _is_credentials(secret: StoredSecret) -> bool:
    return secret.ours and bool(secret.service) and secret.name == credentials_name(secret.service)
