"""How a text reads where it was escaped for something else: JSON, XML, YAML, a URL, a shell, an INI file.

Each is what programs in use write, by name; a text without a special character is the same in all of them.
"""

from __future__ import annotations

import json
import re
import shlex
from urllib.parse import quote, quote_plus

# Nothing escapes these.
_PLAIN = re.compile(r"[A-Za-z0-9_.-]+")
_ESCAPE_SEQUENCE = re.compile(r"%[0-9A-F]{2}|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|&#x[0-9a-f]+;")
# What bash puts a backslash before (printf %q, lib/sh/shquote.c), and what it does within double quotes.
_IN_SHELL = re.compile(r"([^A-Za-z0-9_@%+=:./#\x80-\U0010ffff-])")
_IN_SHELL_BUT_COMMA = re.compile(r"([^A-Za-z0-9_@%+=:,./#\x80-\U0010ffff-])")
_IN_DOUBLE_QUOTES = re.compile(r"([$`\"\\])")
_IN_DOUBLE_QUOTES_OF_HISTORY = re.compile(r"([$`\"\\!])")


def escaped_forms(text: str) -> frozenset[str]:
    """All forms of one text, itself among them."""
    if _PLAIN.fullmatch(text):
        return frozenset((text,))
    urls = {quote(text, safe=""), quote(text), quote_plus(text)}
    texts = {
        _in_json(text),
        _in_json_unescaped(text),
        _in_json_of_go(text),
        _in_json(text).replace("/", "\\/"),
    }
    # JSON in a text of JSON, as a log line that quotes an answer.
    nested = {_in_json_unescaped(form) for form in texts} | {_in_json(form) for form in texts}
    found = {text} | urls | texts | nested | _in_xml(text) | _in_yaml(text) | _in_shell(text)
    found |= {repr(text)[1:-1], repr(text.encode("utf-8", "surrogatepass"))[2:-1]}
    found |= {_other_case(form) for form in found}
    # Options files: ConfigParser reads two of these as one, oslo.config two dollars; a URL may be in one.
    return frozenset(found | {form.replace("%", "%%") for form in (text, *urls)} | {text.replace("$", "$$")})


def _in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def _in_json_unescaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _in_json_of_go(text: str) -> str:
    """encoding/json of Go escapes these three as well, for HTML's sake."""
    plain = _in_json_unescaped(text)
    return plain.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _in_xml(text: str) -> set[str]:
    """Quotes stand as they are in text, and by several names in an attribute."""
    body = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    quotes = [
        ('"', "'"),
        ("&quot;", "'"),
        ("&quot;", "&apos;"),
        ("&quot;", "&#39;"),
        ("&quot;", "&#x27;"),
        ("&#34;", "&#39;"),
    ]
    found = {body.replace('"', double).replace("'", single) for double, single in quotes}
    # libxml2 leaves what only ends a tag in an attribute as it is.
    return found | {form.replace("&gt;", ">") for form in found}


def _in_yaml(text: str) -> set[str]:
    """In single quotes; in double quotes as JSON, except for short codes of non-ASCII characters."""
    codes = (chr(at) for at in range(0x80, 0x100))
    short = _in_json(text)
    for character in codes:
        short = short.replace(f"\\u{ord(character):04x}", f"\\x{ord(character):02x}")
    return {text.replace("'", "''"), short}


def _in_shell(text: str) -> set[str]:
    ansi = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
    return {
        # '"'"' is of Python's shlex, '\'' of bash, '\\'' of what quotes once more.
        shlex.quote(text).removeprefix("'").removesuffix("'"),
        text.replace("'", "'\\''"),
        text.replace("'", "'\\\\''"),
        _IN_SHELL.sub(r"\\\1", text),
        _IN_SHELL_BUT_COMMA.sub(r"\\\1", text),
        _IN_DOUBLE_QUOTES.sub(r"\\\1", text),
        _IN_DOUBLE_QUOTES_OF_HISTORY.sub(r"\\\1", text),
        ansi,
    }


def _other_case(form: str) -> str:
    """The digits of escape sequences in letters of the other case."""

    def swapped(found: re.Match[str]) -> str:
        begin = {"%": 1, "&": 3}.get(found[0][0], 2)
        return found[0][:begin] + found[0][begin:].swapcase()

    return _ESCAPE_SEQUENCE.sub(swapped, form)
