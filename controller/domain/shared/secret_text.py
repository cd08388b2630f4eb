"""What a Secret has under a key, as a text. Pure."""

from __future__ import annotations

import base64
import binascii
import unicodedata

_ENDS = ("\r\n", "\n")
# Control characters, and what some readers take for the end of a line.
_NOT_IN_A_LINE = frozenset(("Cc", "Zl", "Zp"))


def decode_text(encoded: str) -> str | None:
    """The text; None where it is no base64 of UTF-8, and where it is empty.

    Of one line the end goes: `kubectl create secret --from-file` keeps what editors and echo put there, and
    no server takes it for a part of a password. What has several lines is as it was put in.
    """
    return without_end(as_put_in(encoded) or "") or None


def as_put_in(encoded: str) -> str | None:
    """The text with its end; None where it is no base64 of UTF-8."""
    try:
        return base64.b64decode(encoded, validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None


def without_end(text: str) -> str:
    """The one line of a text without its end; any other text as it is."""
    for end in _ENDS:
        line = text.removesuffix(end)
        if line != text and "\n" not in line and "\r" not in line:
            return line
    return text


def is_one_line(text: str) -> bool:
    """Whether it can be the value of an option, or a part of an address, and nothing else comes with it."""
    return not any(unicodedata.category(character) in _NOT_IN_A_LINE for character in text)
