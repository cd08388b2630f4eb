"""No known secret leaves a text, in whatever form it is written; everything else stays."""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
import subprocess
import time
from collections.abc import Callable
from urllib.parse import quote, quote_plus
from xml.etree import ElementTree
from xml.sax import saxutils

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from controller.domain.shared.redaction import MARK, MIN_LENGTH, Redactor

SECRETS = st.text(min_size=MIN_LENGTH, max_size=60).filter(
    lambda text: MARK[0] not in text and MARK[-1] not in text
)


@pytest.mark.slow
@given(
    secrets=st.lists(SECRETS, min_size=1, max_size=5), before=st.text(max_size=20), after=st.text(max_size=20)
)
def test_no_secret_survives_wherever_it_stands(secrets: list[str], before: str, after: str) -> None:
    text = before + after.join(secrets) + after
    redacted = Redactor(secrets).redact(text)
    assert not [secret for secret in secrets if secret in redacted.replace(MARK, "\0")]


@pytest.mark.slow
@given(first=SECRETS, overlap=st.integers(1, MIN_LENGTH - 1), tail=SECRETS)
def test_overlapping_secrets_leave_no_rest(first: str, overlap: int, tail: str) -> None:
    second = first[-overlap:] + tail
    redacted = Redactor([first, second]).redact(first + tail)
    assert tail[-MIN_LENGTH:] not in redacted


@given(secret=SECRETS, before=st.binary(max_size=12), after=st.binary(max_size=12))
def test_a_secret_within_a_base64_whole_cannot_be_read_back(secret: str, before: bytes, after: bytes) -> None:
    long = secret * 2
    whole = base64.b64encode(before + long.encode() + after).decode()
    redacted = Redactor([long]).redact(whole)
    rest = max(redacted.split(MARK), key=len)
    assert MARK in redacted
    assert len(rest) <= 8 + len(base64.b64encode(max(before, after, key=len)))


@pytest.mark.parametrize(
    "write",
    [
        lambda s: quote(s, safe=""),
        quote_plus,
        json.dumps,
        lambda s: json.dumps(s, ensure_ascii=False),
        lambda s: json.dumps(s, ensure_ascii=False).replace("&", "\\u0026").replace("<", "\\u003c"),
        lambda s: base64.b64encode(s.encode()).decode(),
        lambda s: base64.urlsafe_b64encode(s.encode()).decode(),
        lambda s: base64.b64encode(f"mysql+pymysql://keystone:{s}@mariadb:3306/keystone".encode()).decode(),
    ],
)
def test_each_form_of_a_secret_is_found(write: object) -> None:
    secret = 'pä ss&"w<rd/\\+%\n?'
    text = f"error: {write(secret)} refused"  # type: ignore[operator]
    redacted = Redactor([secret]).redact(text)
    assert MARK in redacted
    assert "w<rd" not in redacted
    assert "w%3Crd" not in redacted


def test_each_line_of_a_private_key_is_taken_out_after_a_new_indentation() -> None:
    key = "-----BEGIN X-----\nb3BlbnNzaC1rZXktdjEAAAAABG5v\nbmUAAAAEbm9uZQAAAAAAAAABAAAA\n-----END X-----\n"
    indented = "\n".join(f"    {line}" for line in key.splitlines())
    redacted = Redactor([key]).redact(indented)
    assert "b3Blbn" not in redacted
    assert "bmUAAA" not in redacted
    assert "BEGIN X" in redacted


def test_texts_without_secrets_come_back_unchanged() -> None:
    text = "release keystone: hook Job keystone-db-sync failed"
    assert Redactor(["Zk3v9qLwpX"]).redact(text) == text
    assert Redactor().redact(text) == text


def test_short_texts_are_not_taken_out_of_ordinary_words() -> None:
    assert Redactor(["nova", "on"]).redact("nova-conductor") == "nova-conductor"


def test_the_longest_of_two_secrets_with_one_beginning_is_taken_out() -> None:
    assert Redactor(["password-1", "password-1-long"]).redact("password-1-long.") == f"{MARK}."


def test_a_redactor_never_shows_what_it_knows() -> None:
    redactor = Redactor(["Zk3v9qLwpX"]).including(["another-one"])
    assert "Zk3v9qLwpX" not in repr(redactor)
    assert redactor.redact("Zk3v9qLwpX another-one") == f"{MARK} {MARK}"


@pytest.mark.slow
def test_time_does_not_grow_with_the_number_of_secrets() -> None:
    text = "The quick brown fox jumps over the lazy dog. " * 4000
    few, many = (Redactor(f"{n:06}-secret-{n}" for n in range(count)) for count in (10, 5000))

    def seconds(redactor: Redactor) -> float:
        runs = []
        for _ in range(3):
            started = time.thread_time()
            redactor.redact(text)
            runs.append(time.thread_time() - started)
        return min(runs)

    assert seconds(many) < 10 * seconds(few) + 0.05


@pytest.mark.parametrize("word", ["glance", "glance-clean", "glance\n", "keystone"])
def test_what_is_a_name_or_words_of_one_is_no_secret(word: str) -> None:
    redactor = Redactor([word, "clean-x", "glanc"]).sparing(["glance-clean", "keystone"])
    assert redactor.redact(f"Job glance-clean of {word}") == f"Job glance-clean of {word}"


def test_what_only_stands_within_a_word_of_a_name_is_a_secret() -> None:
    redactor = Redactor(["planted", "stone.api"]).sparing(["implanted-word", "keystone.api", "plantedness"])
    assert redactor.redact("planted stone.api") == "[redacted] [redacted]"


# All that any of the ways to escape a text makes another of.
AWKWARD = "a/b\\c'd\"e&f<g>h $i`j!k%l,m{n}o(p)|q;r*sät#u"


def _as_bash_quotes(text: str) -> str:
    done = subprocess.run(["bash", "-c", 'printf %q "$1"', "_", text], capture_output=True, check=True)
    return done.stdout.decode()


def _in_attribute(text: str) -> str:
    return ElementTree.tostring(ElementTree.Element("a", {"b": text}), encoding="unicode")


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(saxutils.escape, id="XML text"),
        pytest.param(saxutils.quoteattr, id="XML attribute"),
        pytest.param(_in_attribute, id="XML attribute of ElementTree"),
        pytest.param(html.escape, id="HTML of Python"),
        pytest.param(
            lambda s: html.escape(s).replace("&quot;", "&#34;").replace("&#x27;", "&#39;"), id="XML of Go"
        ),
        pytest.param(yaml.safe_dump, id="YAML"),
        pytest.param(lambda s: yaml.safe_dump(s, default_style="'", width=999), id="YAML in single quotes"),
        pytest.param(lambda s: yaml.safe_dump(s, default_style='"', width=999), id="YAML in double quotes"),
        pytest.param(
            lambda s: yaml.safe_dump(s, default_style='"', width=999, allow_unicode=True), id="YAML, unicode"
        ),
        pytest.param(shlex.quote, id="shell"),
        pytest.param(lambda s: "'" + s.replace("'", "'\\''") + "'", id="shell, single quotes"),
        pytest.param(lambda s: re.sub(r'([$`"\\])', r"\\\1", s), id="shell, double quotes"),
        pytest.param(_as_bash_quotes, id="printf %q"),
        pytest.param(repr, id="Python"),
        pytest.param(lambda s: json.dumps(json.dumps(s)), id="JSON in JSON"),
        pytest.param(lambda s: json.dumps(s).replace("/", "\\/"), id="JSON of PHP"),
        pytest.param(lambda s: json.dumps(s).replace("\\u00e4", "\\u00E4"), id="JSON in capitals"),
        pytest.param(lambda s: quote(s, safe="").lower(), id="URL in small letters"),
        pytest.param(lambda s: quote(s, safe="").replace("%", "%%"), id="URL in an INI file"),
        pytest.param(lambda s: s.replace("$", "$$"), id="oslo.config"),
    ],
)
def test_a_secret_is_known_however_it_is_escaped(write: Callable[[str], str]) -> None:
    for secret in (AWKWARD, AWKWARD[::-1], "p&w<d'x\"y\\z"):
        redacted = Redactor([secret]).redact(f"begin {write(secret)} end")
        rest = redacted.removeprefix("begin ").removesuffix(" end")
        assert MARK in rest
        assert len(rest.replace(MARK, "")) < MIN_LENGTH + len("<a b= />"), redacted
