"""The clouds.yaml of the account that may only read, as a Secret of the region that others can ask for."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

from controller.domain.api.names import (
    CLOUDS_CA_KEY,
    CLOUDS_KEY,
    DEPLOYMENT_LABEL,
    MANAGED_BY,
    MANAGED_BY_US,
    OFFER,
    OFFERED_TO_ANNOTATION,
    READER_SECRET,
    SHARED_LABEL,
)
from controller.domain.api.region_spec import ReadOnlyAccountFeature
from controller.domain.credentials.clouds_yaml import Administrator
from controller.domain.credentials.readers import reader_clouds
from controller.domain.credentials.rotation.accounts import Account
from controller.ports.kubernetes import SECRET, Kube, KubeObject
from controller.reconcile.credentials.refused_writes import refusal_of
from controller.reconcile.credentials.secret_text import secret_text
from controller.reconcile.shared.action_log import log_action

TAKEN = "another program owns a Secret of this name; rename it"
_DELETING = "the Secret is being deleted, and waits for a finalizer"


class ReaderExport:
    """Of one region, for one pass."""

    def __init__(self, kube: Kube, osdpl: KubeObject) -> None:
        self.kube = kube
        self._region = str(osdpl["metadata"]["name"])
        self._namespace = str(osdpl["metadata"]["namespace"])
        self._place = f"{self._namespace}/{READER_SECRET}"
        self._there = kube.get(SECRET, READER_SECRET, self._namespace)

    @property
    def ours(self) -> bool:
        """Whether it is there, and made by us."""
        return self._there is not None and _is_ours(self._there)

    @property
    def keys(self) -> frozenset[str]:
        """Those that ours has."""
        return frozenset((self._there or {}).get("data") or ()) if self.ours else frozenset()

    def ensure(
        self, admin: Administrator, account: Account, password: str, feature: ReadOnlyAccountFeature
    ) -> str:
        """Writes the Secret if it differs. Gives why this was impossible, or an empty text. Raises Conflict,
        and KubeError except for a refusal."""
        if self._there is not None and not self.ours:
            return TAKEN
        if self._there is not None and "deletionTimestamp" in self._there["metadata"]:
            return _DELETING
        authority = admin.public_ca if admin.public_url else admin.ca
        trusted = secret_text(self.kube, authority, self._namespace) if authority else ""
        if authority and not trusted:
            return f'the Secret waits for {authority.key} of Secret "{authority.name}"; create it'
        texts = {CLOUDS_KEY: reader_clouds(admin, account, password, in_project=feature.project)}
        if trusted:
            texts[CLOUDS_CA_KEY] = trusted
        return refusal_of(lambda: self._write(texts, feature.offered_to))

    def remove(self, why: str) -> str:
        """Removes the Secret if it is ours; the exchange empties its copies. Gives why this was impossible,
        or an empty text. Raises Conflict, and KubeError except for a refusal."""
        if self._there is None or not self.ours:
            return ""
        meta = self._there["metadata"]
        refused = refusal_of(
            lambda: self.kube.delete(
                SECRET,
                READER_SECRET,
                self._namespace,
                uid=str(meta["uid"]),
                version=str(meta["resourceVersion"]),
            )
        )
        if not refused:
            self._there = None
            log_action("delete", self._place, f"Secret {self._place}: deleted, {why}")
        return refused

    def _write(self, texts: Mapping[str, str], offered_to: Sequence[str]) -> None:
        data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        before = self._there or {
            "apiVersion": SECRET.api_version,
            "kind": SECRET.kind,
            "metadata": {"name": READER_SECRET, "namespace": self._namespace},
            "type": "Opaque",
        }
        body = {**before, "metadata": self._meta(before["metadata"], offered_to), "data": data}
        if self._there is None:
            self._there = self.kube.create(body)
        elif body != self._there:
            self._there = self.kube.replace(body)
        else:
            return
        done = "clouds.yaml of the read-only account exported"
        log_action("export", self._place, f"Secret {self._place}: {done}")

    def _meta(self, before: Mapping[str, object], offered_to: Sequence[str]) -> dict[str, object]:
        """With whom it is offered to: that the spec alone says."""
        labels, notes = _mapping(before.get("labels")), _mapping(before.get("annotations"))
        for marks, key, text in (
            (labels, MANAGED_BY, MANAGED_BY_US),
            (labels, DEPLOYMENT_LABEL, self._region),
            (labels, SHARED_LABEL, OFFER if offered_to else ""),
            (notes, OFFERED_TO_ANNOTATION, ",".join(sorted(offered_to))),
        ):
            if text:
                marks[key] = text
            else:
                marks.pop(key, None)
        meta = {**before, "labels": labels}
        if notes or "annotations" in before:
            meta["annotations"] = notes
        return meta


def _is_ours(secret: KubeObject) -> bool:
    return bool((secret["metadata"].get("labels") or {}).get(MANAGED_BY) == MANAGED_BY_US)


def _mapping(value: object) -> dict[str, str]:
    return dict(value) if isinstance(value, Mapping) else {}
