"""What was written is known by digests, and by these only with the key that made them."""

from __future__ import annotations

import json

import pytest

from controller.domain.api.names import WRITTEN_ANNOTATION
from controller.domain.credentials.hand_edits import (
    edited_keys,
    key_id,
    parse_written,
    written_notes,
)

KEY, OTHER_KEY = b"k" * 32, b"o" * 32


def record(**texts: str) -> str:
    return written_notes({}, KEY, "compute", texts)[WRITTEN_ANNOTATION]


def test_what_is_as_it_was_written_is_not_edited() -> None:
    written = parse_written(record(one="a", two="b"), KEY)
    assert written is not None
    assert edited_keys("compute", {"one": "a", "two": "b", "three": "c"}, written, KEY) == ()


def test_another_text_is_edited_and_none_is_lost() -> None:
    written = parse_written(record(one="a", two="b", three="c"), KEY)
    assert written is not None
    assert edited_keys("compute", {"one": "x", "two": ""}, written, KEY) == ("one",)


def test_what_is_written_again_or_goes_leaves_the_rest_of_the_record() -> None:
    before = parse_written(record(one="a", two="b", three="c"), KEY) or {}
    notes = {WRITTEN_ANNOTATION: record(one="a", two="b", three="c")}
    notes = written_notes(notes, KEY, "compute", {"two": "x", "three": None})
    after = parse_written(notes[WRITTEN_ANNOTATION], KEY)
    assert after is not None
    assert after.keys() == {"one", "two"}
    assert after["one"] == before["one"] and after["two"] != before["two"]


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", "[" * 10000, '{"key": 1, "digests": []}', '{"key": "a", "digests": {}}']
)
def test_a_record_that_is_none_says_nothing(text: str) -> None:
    assert parse_written(text, KEY) is None


def test_a_record_of_another_key_says_nothing() -> None:
    assert parse_written(record(one="a"), OTHER_KEY) is None


@pytest.mark.parametrize("digest", ["", "\N{SNOWMAN}", "\ud800"])
def test_a_digest_that_others_put_in_is_one_of_another_text(digest: str) -> None:
    written = parse_written(json.dumps({"key": key_id(KEY), "digests": {"one": digest}}), KEY)
    assert written is not None
    assert edited_keys("compute", {"one": "a"}, written, KEY) == ("one",)


def test_neither_text_nor_key_is_in_a_record() -> None:
    text = record(password="abc-of-mine", other="abc-of-mine")
    assert "abc-of-mine" not in text and KEY.decode() not in text
    written = parse_written(text, KEY)
    assert written is not None
    assert written["password"] != written["other"]  # no one sees that they are the same
    assert key_id(KEY) not in written.values()
