"""What we read offline is what kubectl makes of the same text."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.domain.values.yaml_reader import read_documents
from controller.errors import SpecInvalid
from sandbox.build import ensure_binaries
from sandbox.patience import patient

pytestmark = pytest.mark.cluster

HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


def as_kubectl_reads(text: str, head: str = HEAD) -> Any:
    """The object that kubectl would send, None where it refuses the text. No server is asked."""
    arguments = ("annotate", "--local", "-f", "-", "-o", "json", "added=1")
    command = [ensure_binaries().kubectl, *arguments]
    answer = subprocess.run(
        command, input=head + text, capture_output=True, text=True, timeout=patient(300), check=False
    )
    if answer.returncode != 0:
        return None
    read = json.loads(answer.stdout, parse_int=_integer)
    del read["metadata"]["annotations"]
    return read


def _integer(digits: str) -> int | float:
    """Kubernetes keeps numbers beyond 64 bits as floating point."""
    return int(digits) if -(2**63) <= int(digits) < 2**63 else float(digits)


def as_we_read(text: str, head: str = HEAD) -> Any:
    [document] = read_documents(head + text, "file.yaml")
    return document.value


CORNERS = [
    *("y", "n", "yes", "No", "ON", "off", "true", "True", "TRUE", "tRUE", "~", "null", "Null", "nil"),
    *(
        "1:30",
        "1e3",
        "1E3",
        "1e-3",
        "1e400",
        "012",
        "0o12",
        "0O12",
        "0b11",
        "0x1F",
        "0x1G",
        "08",
        "+12",
        "-0",
    ),
    *(
        "1_000",
        "_1",
        "1__0",
        "0x_1",
        ".5",
        "5.",
        "-.5",
        "1.0",
        "4.50",
        "1e",
        "e1",
        "1.5e3",
        "1e+16",
        "+.5",
        ".",
    ),
    *("9223372036854775807", "9223372036854775808", "18446744073709551616", "-9223372036854775808"),
    *("2001-01-01", "2001-01-01T00:00:00Z", "2001-1-1", "12:30:45", "1.2.3", "1,000", "0.1e-5", "00", "-012"),
    *(
        "'y'",
        '"1"',
        "!!str 5",
        "'null'",
        '"\\u00e9"',
        "a b",
        "a#b",
        "é",
        "<<x",
        "=",
        "-x",
        "?x",
        "x@y",
    ),
]


@cache
def all_corners() -> Any:
    """Every corner read by kubectl in one go: each call of it costs a tenth of a second."""
    return as_kubectl_reads("x:\n" + "".join(f"- {scalar}\n" for scalar in CORNERS))["x"]


@pytest.mark.parametrize("index", range(len(CORNERS)), ids=CORNERS)
def test_a_scalar_means_the_same(index: int) -> None:
    assert as_we_read(f"x: {CORNERS[index]}\n")["x"] == all_corners()[index]


@pytest.mark.parametrize("key", ["y", "no", "1", "1.0", "0x10", "1e3", "'y'", "on", "12:30", "1.5", "0o7"])
def test_a_key_means_the_same(key: str) -> None:
    assert as_we_read(f"x: {{{key}: 1}}\n") == as_kubectl_reads(f"x: {{{key}: 1}}\n")


@pytest.mark.parametrize(
    "text",
    [
        "a: &anchor {b: 1}\nc: *anchor\n",
        "a: &anchor {b: 1, c: 2}\nd: {<<: *anchor, b: 3}\n",
        "a: &anchor [1, 2]\nc: *anchor\n",
        "a: |\n  line\n  other\nb: >-\n  folded\n  text\n",
        "a: |+\n  kept\n\nb: 1\n",
        "a:\nb: {}\nc: []\n",
        "a: 'it''s'\nb: \"tab\\tnew\\nline\"\n",
        "? a\n: b\n",
        "1E6: a\n1e20: b\n1.5: c\n0.00001: d\n0.0001: e\n",
        "1E39: a\n-1e39: b\n3.14159265358979: c\n123456.78: d\n1e-50: e\n16777217.5: f\n-0.0: g\n",
        "999999.99: a\n0.1: b\n120000.0: c\n3.4028236e38: d\n1.1754944e-39: e\n1.25e30: f\n",
        "123456.0: a\n1234567.0: b\n-1.5e-9: c\n100000.5: d\n1.25e30: e\n",
        "x: &a {k: 1}\nw: &b {k: 2, m: 3}\nz: {<<: [*a, *b]}\n",
        "x: &a {k: 1}\nw: &b {k: 2, m: 3}\nz: {<<: [*b, *a], m: 9}\n",
        "x: &a {k: 1}\nw: &b {k: 2, m: 3}\nz:\n  <<: *a\n  <<: *b\n",
        "z: {<<: {a: 1}, a: 2}\n",
        "x: &a {k: 1}\nz: {<<: [*a, {k: 2, c: 3}], d: 1}\n",
        "z: {<<: &q {a: 1}, b: 2}\nw: *q\n",
        "z: {<<: &q [{a: 1}], b: 2}\nw: *q\n",
        "z: {<<: {<<: {a: 1}, b: 1}, c: 2}\n",
        "z: {<<: []}\nw: {!!merge <<: {a: 1}, '<<': 2}\n",
        f"a: {'9' * 5000}\nb: -{'9' * 5000}\nc: 0x{'f' * 5000}\nd: 0{'7' * 5000}\n",
        f"a: {'9' * 300}\nb: {'0' * 5000}9\nc: 1.{'9' * 5000}\n",
        "a: [1, [2, {b: 3}]]\n",
        "a: {b: {c: [x, 'y', y]}}\n",
    ],
)
def test_a_structure_means_the_same(text: str) -> None:
    assert as_we_read(text) == as_kubectl_reads(text)


@pytest.mark.parametrize(
    "value",
    [
        '"\\ud83d\\ude00"',
        '"\\ud83d"',
        '"\\ude00\\ud83d"',
        '"\\\\ud83d\\ude00"',
        '"a\\/b\\u00e9\\n"',
        '"a\u2028b\x7fc"',
        '{"\\ud83d\\ude00": 1}',
        '[\n\t1, 1.0, 2.5, 1e3, -0, true, null, "y"\n]',
        "9223372036854775808",
        '{"<<": {"a": 1}}',
    ],
)
def test_json_means_the_same(value: str) -> None:
    head = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "x": '
    assert as_we_read(value + "}", head) == as_kubectl_reads(value + "}", head)


@pytest.mark.parametrize(
    "text",
    [
        "a: .inf\n",
        "a: -.inf\n",
        "a: [1\n",
        "a: *nothing\n",
        "{a: 1}: b\n",
        "a: b: c\n",
        'a: "\\ud83d\\ude00"\n',
        "a: {<<: 1}\n",
        "a: {<<: [1]}\n",
        "a: &x [{b: 1}]\nc: {<<: *x}\n",
    ],
)
def test_what_kubectl_refuses_we_refuse(text: str) -> None:
    assert as_kubectl_reads(text) is None
    with pytest.raises(SpecInvalid):
        as_we_read(text)


ALPHABET = st.text(alphabet="0123456789_+-.:eExXobBnyYNO~'\"", min_size=1, max_size=7)


@given(st.lists(ALPHABET, min_size=30, max_size=60))
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_generated_scalars_mean_the_same(scalars: list[str]) -> None:
    readable = [text for text in scalars if readable_alone(text)]
    text = "x:\n" + "".join(f"- {scalar}\n" for scalar in readable)
    if readable:
        assert as_we_read(text) == as_kubectl_reads(text)


def readable_alone(scalar: str) -> bool:
    """Whether this reader takes the scalar; what it refuses is compared one by one above."""
    try:
        return isinstance(as_we_read(f"x:\n- {scalar}\n")["x"], list)
    except SpecInvalid:
        return False
