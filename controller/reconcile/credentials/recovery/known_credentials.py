"""Which credentials a region is known to have had: from its status, its register, and what is left of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from controller.domain.credentials.credential_plan import (
    CredentialProblem,
    EarlierLife,
    StoredSecret,
    with_earlier_life,
    without_trace,
)
from controller.domain.credentials.secret_status import recorded_keys
from controller.domain.credentials.signs_of_life import (
    KnownCredentials,
    Sign,
    joined,
    sign_of,
    with_unsure,
    without_knowledge,
)
from controller.domain.shared.times import seconds_of
from controller.domain.values.catalogue import CredentialSecret
from controller.ports.helm import ReleaseRecords
from controller.ports.kubernetes import PVC, STATEFULSET, Kube, KubeObject, KubeObjects
from controller.reconcile.credentials.certificates.certificate_uptake import used_by_installed
from controller.reconcile.credentials.recovery.credential_register import CredentialRegister, NotedCredentials
from controller.reconcile.shared.remaining_claims import credentials_name, releases_with_kept_claims


class CredentialMemory:
    """Of one region, in one pass: what it is known to have had, and what is to be remembered of it."""

    def __init__(self, kube: Kube, records: ReleaseRecords, osdpl: KubeObject) -> None:
        self._kube = kube
        self._records = records
        self._osdpl = osdpl
        self._register = CredentialRegister(kube, osdpl)
        self._noted: NotedCredentials | None = None
        # What is known to have been there, be it lost by now.
        self._had: Mapping[str, Collection[str]] = {}
        self._unsure = False

    def observe(
        self,
        bundles: KubeObjects,
        desired: tuple[CredentialSecret, ...],
        stored: Mapping[str, StoredSecret],
    ) -> KnownCredentials:
        """The keys that each Secret has had.

        The register says so where anything of the region lives that may know them. Where it does not, the
        status is believed only if nothing of the region is older than the osdpl that has it: one that was
        made again knows nothing of the life before. Raises KubeError.
        """
        recorded = recorded_keys(self._osdpl.get("status") or {})
        self._noted = self._register.read()
        known = self._noted is not None and self._noted.complete
        self._had = {secret.name: recorded[secret.name] for secret in desired if secret.name in recorded}
        if known and not without_knowledge(desired, stored, recorded):
            return KnownCredentials(recorded, recorded)
        signs = tuple(self._signs(bundles, desired))
        if not signs:
            # Whatever is noted is of a region that is gone with all that knew its credentials.
            self._noted = None
        elif self._noted is not None:
            recorded = joined(recorded, self._noted.keys)
        older = self._older(signs) if self._noted is None or not self._noted.complete else None
        if self._noted is None:
            self._noted = NotedCredentials(complete=older is None)
        unknown = without_knowledge(desired, stored, recorded)
        if unknown and older is not None:
            self._unsure = True
            return with_unsure(recorded, unknown, older)
        traceless = without_trace(desired, stored, recorded)
        if not traceless:
            return KnownCredentials(recorded, recorded)
        kept = releases_with_kept_claims(self._kube, self._osdpl["metadata"]["namespace"])
        earlier = EarlierLife(used_by_installed(bundles), kept)
        found = with_earlier_life(recorded, desired, traceless, earlier)
        self._had = {secret.name: found[secret.name] for secret in desired if secret.name in found}
        return KnownCredentials(found, found)

    def note(
        self, stored: Mapping[str, StoredSecret], amphorae: Mapping[str, Collection[str]]
    ) -> list[CredentialProblem]:
        """Has what there is remembered; what stands in the way. Nothing is noted while it is not known what
        there was. Raises Conflict, KubeError."""
        if self._unsure or self._noted is None:
            return []
        found = {one.name: one.filled | one.empty for one in stored.values() if _is_credentials(one)}
        keys: Mapping[str, Collection[str]] = self._noted.keys
        for more in (self._had, found, amphorae):
            keys = joined(keys, more)
        return self._register.write(replace(self._noted, keys=keys))

    def forget(self) -> None:
        """With the region, and its credentials. Raises Conflict, KubeError."""
        self._register.remove()

    def _older(self, signs: Iterable[Sign]) -> Sign | None:
        """The oldest that is from before the osdpl, None where there is none."""
        begun = seconds_of(self._osdpl["metadata"].get("creationTimestamp"))
        found = (sign for sign in signs if sign.made < begun)
        return min(found, key=lambda one: one.made, default=None)

    def _signs(self, bundles: KubeObjects, desired: Iterable[CredentialSecret]) -> Iterator[Sign]:
        """All that is left of the region's releases, or runs. Raises KubeError."""
        namespace = str(self._osdpl["metadata"]["namespace"])
        releases = {name for secret in desired for name in secret.releases} | set(_named(bundles))
        for resource in (PVC, STATEFULSET):
            for one in self._kube.list_metadata(resource, namespace):
                sign = sign_of(resource.kind, one["metadata"], releases)
                if sign is not None:
                    yield sign
        histories = self._records.observe(namespace, releases=releases) if releases else {}
        for name, history in histories.items():
            made = [revision.created for revision in history if revision.bundle]
            if made:
                yield Sign(f"Helm's record of release {name}", min(made))
        for bundle in bundles:
            if any(one.get("revision") for one in (bundle.get("status") or {}).get("releases") or ()):
                meta = bundle["metadata"]
                yield Sign(f"HelmBundle {meta['name']}", seconds_of(meta.get("creationTimestamp")))


def _named(bundles: KubeObjects) -> Iterator[str]:
    for bundle in bundles:
        for one in (bundle.get("spec") or {}).get("releases") or ():
            yield str(one.get("name"))


def _is_credentials(secret: StoredSecret) -> bool:
    return secret.ours and bool(secret.service) and secret.name == credentials_name(secret.service)
