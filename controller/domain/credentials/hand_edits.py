"""The controller's own content of a Secret, as keyed digests in an annotation: a different text means an
edit. Pure. The digests are useless without the installation's key, which the record identifies. With
another key nothing is known, and nothing is reported.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping

from controller.domain.api.names import WRITTEN_ANNOTATION

_HEX_DIGITS = 32


def key_id(key: bytes) -> str:
    """The identifier of a record's key."""
    return _digest(key, "written-record", "key")[:16]


def digest_of(key: bytes, secret: str, entry: str, text: str) -> str:
    """The digest of a Secret's text under a key.

    It includes the names, so that equal texts have different digests.
    """
    return _digest(key, "written", secret, entry, text)


def parse_written(text: str, key: bytes) -> dict[str, str] | None:
    """The digests by the keys of the Secret; None if the record is missing or unreadable, or uses another
    key.
    """
    try:
        given = json.loads(text)
        found = {str(entry): str(digest) for entry, digest in given["digests"].items()}
        return found if given["key"] == key_id(key) else None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def written_notes(
    notes: Mapping[str, str], key: bytes, secret: str, texts: Mapping[str, str | None]
) -> dict[str, str]:
    """The annotation that records these texts of a Secret beside those that its annotations record already;
    what is None goes."""
    note = notes.get(WRITTEN_ANNOTATION)
    known = (parse_written(note, key) if note else None) or {}
    left = {entry: digest for entry, digest in known.items() if entry not in texts}
    made = {entry: digest_of(key, secret, entry, text) for entry, text in texts.items() if text}
    whole = {"key": key_id(key), "digests": {**left, **made}}
    return {WRITTEN_ANNOTATION: json.dumps(whole, sort_keys=True)}


def edited_keys(
    secret: str, texts: Mapping[str, str], written: Mapping[str, str], key: bytes
) -> tuple[str, ...]:
    """The keys whose text differs from the written one; an empty or missing key is lost, not edited."""
    return tuple(
        entry
        for entry, digest in sorted(written.items())
        if texts.get(entry) and not _same(digest_of(key, secret, entry, texts[entry]), digest)
    )


def _same(digest: str, noted: str) -> bool:
    # As octets, because a writer of the Secret may record anything, and texts can only be compared in ASCII.
    return hmac.compare_digest(digest.encode(), noted.encode(errors="replace"))


def _digest(key: bytes, *parts: str) -> str:
    whole = json.dumps(parts).encode()
    return hmac.new(key, whole, hashlib.sha256).hexdigest()[:_HEX_DIGITS]
