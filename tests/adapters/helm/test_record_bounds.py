"""A record of Helm that holds rubbish costs no memory: it is refused before it is read."""

from __future__ import annotations

import base64
import gzip
import tracemalloc

import pytest

from controller.adapters.helm.records.record_texts import LARGEST_RECORD, decode_record, encode_record
from controller.errors import HelmFailed

MIB = 1024 * 1024


def packed(text: bytes) -> str:
    return base64.b64encode(base64.b64encode(gzip.compress(text, compresslevel=6))).decode()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "part", "times", "tail"),
    [
        (b'{"manifest": "', b" ", 600 * MIB, b'"}'),
        (b'{"a": [', b"[],", 7_000_000, b"[]]}"),
        (b'{"a": [', b'{"a":1},', 2_600_000, b"{}]}"),
        (b'{"a": [', b"1.5,", 5_000_000, b"1]}"),
    ],
    ids=["blanks", "lists", "maps", "numbers"],
)
def test_what_unpacks_to_far_more_is_refused(head: bytes, part: bytes, times: int, tail: bytes) -> None:
    data = packed(head + part * times + tail)
    assert len(data) < 2 * MIB
    tracemalloc.start()
    try:
        with pytest.raises(HelmFailed, match=r"record r\.v1 cannot be read"):
            decode_record(data, "r.v1")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 3 * LARGEST_RECORD


def test_what_is_larger_than_any_secret_is_refused_before_it_is_unpacked() -> None:
    with pytest.raises(HelmFailed, match="too large"):
        decode_record("A" * 3 * MIB, "r.v1")


def test_a_large_release_is_read() -> None:
    record = {"info": {"status": "deployed"}, "manifest": "a: b, c\n" * 500_000, "hooks": []}

    assert decode_record(encode_record(record), "r.v1") == record
