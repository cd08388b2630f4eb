"""Takes secrets out of what a support file shows: known ones wherever they are, others by the name they have.

Pure. Known are the contents of the Secrets that could be read. A text in clear that a person has written into
a spec is in no Secret: it goes by the name of its option, or by its shape (a URL with a password, a key).
"""

from __future__ import annotations

import base64
import binascii
import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from controller.domain.api.names import HOOK, MANAGED_BY
from controller.domain.credentials.backup import is_kept
from controller.domain.shared.redaction import MARK, MIN_LENGTH, Redactor, redact_urls
from controller.domain.values.plain_text_secrets import names_secret

_ASSIGNMENT = re.compile(r"^(\s*(?:- )?[\"']?(?:--)?([A-Za-z0-9_.-]+)[\"']?\s*[=:]\s*)(\S.*)$")
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S)
_URL_PASSWORD = re.compile(r"://[^/\s:@]*:([^@\s]+)@")
# Options whose secret is a part of an address: only the password of it goes.
_ADDRESSES = re.compile(r"(^|_)(urls?|connection|argument)$")


class Mask:
    """Shows objects and texts without secrets. `options` are names of options that packages call secret.

    A `blind` one does not know all Secrets: it hides messages as well, which quote logs of containers.
    """

    def __init__(self, redactor: Redactor, options: Collection[str] = (), *, blind: bool = False) -> None:
        self._redactor = redactor
        self._blind = blind
        self._options = frozenset(name for name in options if not _ADDRESSES.search(name))
        self._text = functools.lru_cache(maxsize=8192)(self._masked)

    @property
    def of_ours(self) -> Mask:
        """The mask for objects of this product, whose messages the controller has redacted itself."""
        return Mask(self._redactor, self._options) if self._blind else self

    def text(self, text: str) -> str:
        """A text without known secrets, passwords of URLs, private keys, and lines that assign a secret."""
        return self._text(text)

    def _masked(self, text: str) -> str:
        if len(text) < MIN_LENGTH:
            return text
        found = _PRIVATE_KEY.sub(MARK, text) if "PRIVATE KEY-----" in text else text
        if "=" in found or ":" in found:
            found = "\n".join(self._line(line) for line in found.split("\n"))
        return redact_urls(self._redactor.redact(found))

    def _line(self, line: str) -> str:
        match = _ASSIGNMENT.match(line)
        if match is None or not self.is_secret(match[2]) or match[3].startswith("{"):
            return line
        return f"{match[1]}{MARK}"

    def is_secret(self, name: str) -> bool:
        """Whether what stands under this name is a secret."""
        return names_secret(name) or name.replace("-", "_") in self._options

    def of(self, value: Any, name: str = "") -> Any:
        """The value, which stands under a name, with every text in it masked."""
        if isinstance(value, Mapping):
            return self._of_map(value)
        if isinstance(value, list | tuple):
            # A list under a secret's name is a list of secrets (fixed keys, tokens).
            return [self.of(one, name) for one in value]
        if isinstance(value, bool) or value is None:
            return value
        if name and value != "" and (self.is_secret(name) or (self._blind and name == "message")):
            return MARK
        return self.text(value) if isinstance(value, str) else value

    def _of_map(self, value: Mapping[str, Any]) -> dict[str, Any]:
        # A variable of a container: the name is beside the value.
        named = value.get("name")
        beside = named if isinstance(named, str) and "value" in value else ""
        return {
            self.text(str(key)): self.of(one, beside if key == "value" and beside else str(key))
            for key, one in value.items()
        }


def known_secrets(secrets: Iterable[Mapping[str, Any]], mask: Mask) -> Iterator[str]:
    """The texts to look for, of these Secrets.

    Of what Helm made only secrets: whole files of options are there, and their other lines are no secrets.
    """
    for secret in secrets:
        chosen = _is_of_charts(secret)
        for key, encoded in (secret.get("data") or {}).items():
            text = _decoded(encoded)
            if text is None:
                yield str(encoded)  # binary: it can stand nowhere but so
            elif not chosen:
                yield text
            else:
                yield from _secret_parts(str(key), text, mask)


def _is_of_charts(secret: Mapping[str, Any]) -> bool:
    meta = secret["metadata"]
    labels, notes = meta.get("labels") or {}, meta.get("annotations") or {}
    return (labels.get(MANAGED_BY) == "Helm" or HOOK in notes) and not is_kept(secret)


def _secret_parts(key: str, text: str, mask: Mask) -> Iterator[str]:
    yield from (match[1] for match in _URL_PASSWORD.finditer(text))
    yield from (match[0] for match in _PRIVATE_KEY.finditer(text))
    if "\n" not in text.strip():
        if mask.is_secret(key):
            yield text
        return
    for line in text.splitlines():
        match = _ASSIGNMENT.match(line)
        if match is not None and mask.is_secret(match[2]):
            yield match[3].strip().strip("\"'")


def _decoded(encoded: Any) -> str | None:
    try:
        return base64.b64decode(str(encoded), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None
