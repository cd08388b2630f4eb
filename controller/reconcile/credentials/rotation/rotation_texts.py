"""What a Secret says from each write of its rotation on."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from controller.domain.credentials.generate import (
    SSH_PRIVATE_KEY,
    WRAPPING_KIND,
    CredentialUnusable,
    generate,
)
from controller.domain.credentials.rotation.accounts import SecretUse
from controller.domain.credentials.rotation.barbican_key import ended_texts, lost_texts, moved_texts
from controller.domain.credentials.rotation.in_place import coming_name, pair_texts
from controller.domain.credentials.rotation.record import RotationRecord
from controller.domain.values.catalogue import CredentialSecret
from controller.domain.values.templates.template_functions import ACCOUNT_SUFFIX
from controller.ports.system import Randomness
from controller.reconcile.credentials.store import CredentialStore

# By key; None: the key goes.
Texts = dict[str, str | None]


class RotationTexts:
    """Made of what the Secret says before, and of randomness."""

    def __init__(self, randomness: Randomness) -> None:
        self._randomness = randomness

    def first(
        self,
        store: CredentialStore,
        secret: CredentialSecret,
        use: SecretUse,
        record: RotationRecord,
        next_suffix: Callable[[], str],
    ) -> Texts:
        """Of the first write. Raises CredentialUnusable, and what `next_suffix` raises."""
        texts = store.texts(secret.name)
        wanted = {*record.shared, *(use.keys if record.accounts else ())}
        new: Texts = {key: self._made(kind) for key, kind in secret.credentials.items() if key in wanted}
        if record.accounts:
            new[ACCOUNT_SUFFIX] = next_suffix()
        if record.wraps:
            new |= moved_texts(texts, lambda: self._made(WRAPPING_KIND))
        new |= {key: texts[coming_name(key)] for key in record.kept_accounts}
        return new | self.pairs(texts, record)

    def pairs(self, texts: Mapping[str, str], record: RotationRecord) -> Texts:
        """Of pairs of keys, in the stage of the record. Raises CredentialUnusable."""
        found: Texts = {}
        for private in record.pairs:
            if not texts.get(private):
                raise CredentialUnusable(f"{private} is missing")
            # A rotation begins with a key of its own, also where a backup has brought back one of another.
            left_out = "" if record.rewritten else coming_name(private)
            known = {key: text for key, text in texts.items() if key != left_out}
            found |= pair_texts(record.stage, private, known, lambda: self._made(SSH_PRIVATE_KEY))
        return found

    def lost(self, texts: Mapping[str, str], record: RotationRecord, kinds: Mapping[str, str]) -> Texts:
        """New texts for lost keys that exist nowhere else, empty if nothing was lost. `kinds`: of the
        keys."""
        new: Texts = {
            key: self._made(kinds[key]) for key in record.shared if key in kinds and not texts.get(key)
        }
        for key in record.kept_accounts:
            pair = (key, coming_name(key))
            new |= {
                gone: texts[left]
                for gone, left in (pair, pair[::-1])
                if not texts.get(gone) and texts.get(left)
            }
        return new | (lost_texts(texts, lambda: self._made(WRAPPING_KIND)) if record.wraps else {})

    def password(self, kind: str) -> str:
        """The next one of an account that keeps its name."""
        return self._made(kind)

    def ended(self, record: RotationRecord) -> Texts:
        """Of the last write."""
        following: Texts = {coming_name(key): None for key in record.kept_accounts}
        return following | (ended_texts() if record.wraps else {})

    def _made(self, kind: str) -> str:
        return generate(kind, self._randomness)
