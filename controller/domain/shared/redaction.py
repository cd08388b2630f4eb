"""Takes known secrets out of any text, in every form in which they are likely to appear.

Helm errors quote values, pods print their connection URLs, the API server quotes Secret data: the same
password may appear as it is, within base64, or escaped for a URL, JSON, XML, YAML, a shell or an INI file.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping

from controller.domain.shared.escapes import escaped_forms

MARK = "[redacted]"

# Shorter texts would be found in ordinary words; none of ours is as short (`domain.credentials.generate`).
MIN_LENGTH = 6
# Lines of a multi-line secret (a private key) count one by one from this length on.
MIN_LINE_LENGTH = 16
# Candidates are found by this many first characters, by one regular expression of bounded depth.
_HEAD = MIN_LENGTH


def forms_of(secret: str) -> frozenset[str]:
    """The forms of one secret to search; empty if it is too short to distinguish from words."""
    found: set[str] = set()
    for text in _parts(secret):
        found |= escaped_forms(text)
        found |= _base64_forms(text)
    return frozenset(form for form in found if len(form) >= MIN_LENGTH)


def _parts(secret: str) -> set[str]:
    """The secret, and its lines where it has several: YAML and logs indent each line again."""
    whole = secret.strip()
    parts = {secret, whole}
    lines = [line.strip() for line in whole.splitlines()]
    if len(lines) > 1:
        parts |= {line for line in lines if len(line) >= MIN_LINE_LENGTH and not line.startswith("-----")}
    return {part for part in parts if len(part) >= MIN_LENGTH}


def _base64_forms(text: str) -> set[str]:
    """What stays the same of the text's base64 wherever it stands within an encoded whole.

    Base64 turns three octets into four characters: there are three alignments, and in each the first
    and last characters may also depend on the neighbours.
    """
    octets = text.encode("utf-8", "surrogatepass")
    found = {base64.b64encode(octets).decode(), base64.urlsafe_b64encode(octets).decode()}
    for shift in range(3):
        padded = b"\0" * shift + octets
        start = -(-shift * 8 // 6)
        end = len(padded) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            core = encode(padded).decode()[start:end]
            if len(core) > MIN_LENGTH:
                found.add(core)
    return found


# A URL with a password in it, whosever it is.
_URL_PASSWORD = re.compile(r"(://[^/\s:@]*:)[^@\s]+@")


def redact_urls(text: str) -> str:
    """The text with the password of every URL replaced."""
    return _URL_PASSWORD.sub(rf"\g<1>{MARK}@", text)


class Redactor:
    """Replaces known secrets. Immutable, so it may be shared between threads.

    Time grows with the length of the text, not with the number of secrets.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = frozenset(secrets)
        forms = {form for secret in self._secrets for form in forms_of(secret)}
        by_head: dict[str, list[str]] = {}
        for form in sorted(forms, key=len, reverse=True):
            by_head.setdefault(form[:_HEAD], []).append(form)
        self._by_head: Mapping[str, list[str]] = by_head
        # Zero width, so that overlapping candidates are all found.
        self._candidate = re.compile(f"(?={_alternatives(sorted(by_head))})") if by_head else None

    def __repr__(self) -> str:
        return f"Redactor({len(self._secrets)} secrets)"

    def including(self, secrets: Iterable[str]) -> Redactor:
        """A redactor that knows these as well."""
        more = frozenset(secrets)
        return self if more <= self._secrets else Redactor(self._secrets | more)

    def sparing(self, names: Iterable[str]) -> Redactor:
        """A redactor that keeps public names, and words of them, because they are not secret."""
        shown = "\n".join(names)
        remaining = frozenset(text for text in self._secrets if not _is_word_of(text.strip(), shown))
        return self if remaining == self._secrets else Redactor(remaining)

    def redact(self, text: str) -> str:
        """The text with each secret replaced by `[redacted]`; neighbouring ones become one mark."""
        if self._candidate is None:
            return text
        spans = self._spans(text)
        if not spans:
            return text
        pieces: list[str] = []
        position = 0
        for start, end in spans:
            pieces += (text[position:start], MARK)
            position = end
        pieces.append(text[position:])
        return "".join(pieces)

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Stretches to replace, in order, overlapping and touching ones merged."""
        spans: list[tuple[int, int]] = []
        if self._candidate is None:
            return spans
        for match in self._candidate.finditer(text):
            start = match.start()
            # Longest first: the first that fits covers the others.
            fitting = (
                form for form in self._by_head[text[start : start + _HEAD]] if text.startswith(form, start)
            )
            longest = next(fitting, None)
            if longest is None:
                continue
            end = start + len(longest)
            if spans and start <= spans[-1][1]:
                spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
            else:
                spans.append((start, end))
        return spans


def _is_word_of(text: str, names: str) -> bool:
    """Whether the text is one of the names, one to a line, or stands in one between `-`, `.` or `_`."""
    return bool(text) and re.search(rf"(?<![^\n._-]){re.escape(text)}(?![^\n._-])", names) is not None


def _alternatives(heads: list[str]) -> str:
    """A regular expression for sorted texts of equal length, shared beginnings written once.

    Its depth is the length of a head, however many heads there are.
    """
    if len(heads) == 1:
        return re.escape(heads[0])
    groups: dict[str, list[str]] = {}
    for head in heads:
        groups.setdefault(head[0], []).append(head[1:])
    branches = [re.escape(first) + (_alternatives(rest) if rest[0] else "") for first, rest in groups.items()]
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"
