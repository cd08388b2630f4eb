"""Reads and writes the Secrets that hold credentials. Their content stays in here."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from controller.domain.api.names import (
    DEPLOYMENT_LABEL,
    GROUP,
    MANAGED_BY,
    MANAGED_BY_US,
    SERVICE_LABEL,
    UNUSED_ANNOTATION,
    WRITTEN_ANNOTATION,
)
from controller.domain.credentials.credential_plan import (
    CredentialProblem,
    SecretChange,
    StoredSecret,
)
from controller.domain.credentials.generate import CredentialUnusable, generate_all
from controller.domain.credentials.hand_edits import edited_keys, parse_written, written_notes
from controller.domain.releases.digests import secret_digest
from controller.domain.shared.secret_text import as_put_in, without_end
from controller.domain.shared.times import seconds_of
from controller.ports.kubernetes import OSDPL, SECRET, Kube, KubeObject
from controller.ports.system import Randomness
from controller.reconcile.credentials.refused_writes import refusal_of
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.remaining_claims import is_credentials


class CredentialStore:
    """The credential Secrets of one osdpl, as one pass finds them. `digest_key` gives the key of the record
    of what is written into each."""

    def __init__(
        self,
        kube: Kube,
        randomness: Randomness,
        osdpl: Mapping[str, Any],
        digest_key: Callable[[], bytes],
    ) -> None:
        self._digest_key = digest_key
        self._kube = kube
        self._randomness = randomness
        self._region = str(osdpl["metadata"]["name"])
        self._namespace = str(osdpl["metadata"]["namespace"])
        self._objects: dict[str, KubeObject] = {}
        self._elsewhere: dict[str, KubeObject | None] = {}
        self._marked = False

    @property
    def marked(self) -> bool:
        """Whether this pass has marked what the next one is to remove."""
        return self._marked

    def observe(self, names: Iterable[str]) -> dict[str, StoredSecret]:
        """Every Secret with our labels, and those of these names whoever made them."""
        self._objects = {}
        labels = f"{MANAGED_BY}={MANAGED_BY_US},{SERVICE_LABEL}"
        for secret in self._kube.list(SECRET, self._namespace, labels=labels):
            if is_credentials(secret["metadata"]):
                self._objects[str(secret["metadata"]["name"])] = secret
        for name in names:
            if name not in self._objects:
                found = self._kube.get(SECRET, name, self._namespace)
                if found is not None:
                    self._objects[name] = found
        return self.stored()

    def stored(self) -> dict[str, StoredSecret]:
        """What was observed, with our own writes since; nothing is read again."""
        return {name: self._stored(secret) for name, secret in self._objects.items()}

    def has(self, name: str, key: str) -> bool:
        """Whether values have anything of any Secret of the namespace under the key."""
        return bool(self.any_text(name, key))

    def any_text(self, name: str, key: str) -> str:
        """What values have of any Secret of the namespace under a key; empty for nothing."""
        return without_end(_texts(self._any(name)).get(key, ""))

    def is_text(self, name: str, key: str) -> bool:
        """Whether what any Secret of the namespace has under a key is UTF-8 text."""
        return as_put_in(((self._any(name) or {}).get("data") or {}).get(key) or "") is not None

    def digest(self, name: str, key: bytes, keys: Iterable[str] | None = None) -> str:
        """Keyed digest of a Secret, of some of its keys if named; empty when it is not there."""
        secret = self._any(name)
        texts = _texts(secret)
        chosen = texts if keys is None else {entry: texts.get(entry, "") for entry in keys}
        return f"hmac-sha256:{secret_digest(chosen, key)}" if secret else ""

    def apply(
        self,
        change: SecretChange,
        known: Mapping[str, str] | None = None,
        more_notes: Mapping[str, str] | None = None,
    ) -> None:
        """Creates or completes a Secret, on the condition that it is as it was observed.

        `known`: the texts of those keys, of all of them, that are not to be made but brought back, and
        `more_notes` the annotations that come back with them. Raises
        Conflict when someone else was there meanwhile, and CredentialUnusable when a public key
        cannot be derived.
        """
        before = self._objects.get(change.name)
        body: KubeObject = before or {
            "apiVersion": SECRET.api_version,
            "kind": SECRET.kind,
            "metadata": {"name": change.name, "namespace": self._namespace},
            "type": "Opaque",
        }
        new = known or generate_all(change.add, _texts(before) if before else {}, self._randomness)
        meta = dict(body["metadata"])
        if before is None or change.adopt:
            ours = {MANAGED_BY: MANAGED_BY_US, SERVICE_LABEL: change.service, DEPLOYMENT_LABEL: self._region}
            meta["labels"] = {**(meta.get("labels") or {}), **ours}
        if change.disown:
            others = [one for one in meta.get("ownerReferences") or [] if not _is_region(one)]
            meta["ownerReferences"] = others
        notes = {k: text for k, text in (meta.get("annotations") or {}).items() if k != UNUSED_ANNOTATION}
        notes |= more_notes or {}
        notes |= written_notes(notes, self._digest_key(), change.name, new) if new else {}
        meta["annotations"] = {**notes, UNUSED_ANNOTATION: "true"} if change.unused else notes
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in new.items()}
        body = {**body, "metadata": meta, "data": {**(body.get("data") or {}), **encoded}}
        written = self._kube.replace(body) if before else self._kube.create(body)
        self._objects[change.name] = written
        self._marked = self._marked or change.unused
        verb = "brought back" if known else "made"
        done = f"{verb} {', '.join(sorted(new))}" if new else "labels and owner updated"
        done = "marked, because nothing uses it any more" if change.unused else done
        action = "complete" if before else "create"
        log_action(action, f"{self._namespace}/{change.name}", f"Secret {change.name}: {done}")

    def rotatable(self) -> frozenset[str]:
        """The Secrets of ours that may be written."""
        return frozenset(
            name
            for name, secret in self.stored().items()
            if secret.ours and not (secret.foreign or secret.immutable or secret.deleting)
        )

    def write_obstacle(self, name: str) -> str:
        """Why a Secret of ours that was observed may not be written, and what to do; empty where it may."""
        there = self.stored()[name]
        if there.immutable:
            return (
                "the Secret is immutable; delete it, and create it again with the same content, without "
                "immutable: true"
            )
        return (
            ""
            if name in self.rotatable()
            else "the Secret is being deleted, or does not belong to the controller"
        )

    def notes(self, name: str) -> Mapping[str, str]:
        """The annotations of a Secret that was observed."""
        found = self._objects.get(name) or {}
        return {**((found.get("metadata") or {}).get("annotations") or {})}

    def text(self, name: str, key: str) -> str:
        """What a Secret that was observed has under a key; empty for nothing."""
        return _texts(self._objects.get(name)).get(key, "")

    def texts(self, name: str) -> Mapping[str, str]:
        """All that a Secret has that was observed."""
        return _texts(self._objects.get(name))

    def created(self, name: str) -> float:
        """When a Secret that was observed was made, in seconds since the epoch."""
        found = self._objects.get(name) or {}
        return seconds_of((found.get("metadata") or {}).get("creationTimestamp"))

    def rewrite(
        self,
        name: str,
        notes: Mapping[str, str | None],
        texts: Mapping[str, str | None] | None = None,
        *,
        done: str,
        action: str = "rotate",
    ) -> None:
        """Puts texts and annotations into a Secret in one write, on the condition that it is as it was
        observed; what is None goes. `done` tells of it in the log, as an `action`.

        Raises Conflict when someone else was there meanwhile, and ObjectRefused.
        """
        before = self._objects[name]
        annotations = {**self.notes(name), **notes}
        left = {key: text for key, text in annotations.items() if text is not None}
        left |= written_notes(left, self._digest_key(), name, texts) if texts else {}
        data = dict(before.get("data") or {})
        for key, text in (texts or {}).items():
            if text is None:
                data.pop(key, None)
            else:
                data[key] = base64.b64encode(text.encode()).decode()
        body = {**before, "metadata": {**before["metadata"], "annotations": left}, "data": data}
        self._objects[name] = self._kube.replace(body)
        log_action(action, f"{self._namespace}/{name}", f"Secret {name}: {done}")

    def edited(self, name: str) -> tuple[str, ...]:
        """The keys of a Secret that was observed which have another text than was written here; none where
        that is not known."""
        note = self.notes(name).get(WRITTEN_ANNOTATION)
        if note is None:
            return ()
        key = self._digest_key()
        return edited_keys(name, self.texts(name), parse_written(note, key) or {}, key)

    def take_as_written(self, name: str, entries: Iterable[str]) -> None:
        """Records the present values of an observed Secret for keys without a record. Raises Conflict,
        ObjectRefused."""
        texts = self.texts(name)
        known = parse_written(self.notes(name).get(WRITTEN_ANNOTATION, ""), self._digest_key()) or {}
        new = {entry: texts[entry] for entry in entries if texts.get(entry) and entry not in known}
        if new:
            note = written_notes(self.notes(name), self._digest_key(), name, new)
            done = f"the content of {', '.join(sorted(new))} is recorded"
            self.rewrite(name, {**note}, done=done, action="note")

    def remove(self, secret: StoredSecret, why: str = "the service and its volumes are gone") -> None:
        """Deletes that very Secret, as it was observed. `why` tells of it in the log. Raises Conflict
        when another has taken its name, and when it was written to since."""
        self._kube.delete(SECRET, secret.name, self._namespace, uid=secret.uid, version=secret.version)
        self._objects.pop(secret.name, None)
        text = f"Secret {secret.name}: deleted, {why}"
        log_action("delete", f"{self._namespace}/{secret.name}", text)

    def _any(self, name: str) -> KubeObject | None:
        if name in self._objects:
            return self._objects[name]
        if name not in self._elsewhere:
            self._elsewhere[name] = self._kube.get(SECRET, name, self._namespace)
        return self._elsewhere[name]

    def _stored(self, secret: KubeObject) -> StoredSecret:
        meta = secret["metadata"]
        labels, owners = meta.get("labels") or {}, meta.get("ownerReferences") or []
        regions = [one for one in owners if _is_region(one)]
        controlled = any(one.get("controller") for one in owners if one not in regions)
        texts = _texts(secret)
        manager = labels.get(MANAGED_BY, "")
        deployment = labels.get(DEPLOYMENT_LABEL, "")
        complete = manager == MANAGED_BY_US and deployment == self._region
        return StoredSecret(
            name=meta["name"],
            service=labels.get(SERVICE_LABEL, ""),
            filled=frozenset(key for key, text in texts.items() if text),
            empty=frozenset(key for key, text in texts.items() if not text),
            ours=complete,
            foreign=manager not in ("", MANAGED_BY_US) or controlled,
            owned=bool(regions),
            immutable=bool(secret.get("immutable")),
            deleting="deletionTimestamp" in meta,
            unused=UNUSED_ANNOTATION in (meta.get("annotations") or {}),
            uid=meta["uid"],
            version=meta["resourceVersion"],
        )


def made_changes(store: CredentialStore, changes: Iterable[SecretChange]) -> list[CredentialProblem]:
    """Makes the changes; those that cannot be made."""
    problems = []
    for change in changes:
        try:
            text = refusal_of(partial(store.apply, change))
        except CredentialUnusable as error:
            text = str(error)
        problems += [CredentialProblem(change.name, text)] if text else []
    return problems


def _is_region(reference: Mapping[str, Any]) -> bool:
    group = str(reference.get("apiVersion") or "").partition("/")[0]
    return group == GROUP and reference.get("kind") == OSDPL.kind


def _texts(secret: Mapping[str, Any] | None) -> dict[str, str]:
    """The content as texts. What is no UTF-8 text counts by its base64: it is there, and is kept."""
    texts = {}
    for key, encoded in ((secret or {}).get("data") or {}).items():
        text = as_put_in(encoded or "")
        texts[key] = str(encoded) if text is None else text
    return texts
