"""Secrets in files are read as the controller reads those of a cluster."""

from __future__ import annotations

import base64

from controller.cli.offline.charts import secret_texts


def encoded(text: bytes) -> str:
    return base64.b64encode(text).decode()


def test_the_end_of_one_line_is_no_part_of_a_text_in_either_form() -> None:
    secret = {"data": {"a": encoded(b"one\n")}, "stringData": {"b": "two\r\n", "c": "a\nb\n"}}
    assert dict(secret_texts(secret)) == {"a": "one", "b": "two", "c": "a\nb\n"}


def test_what_is_no_text_is_left_out() -> None:
    assert (
        dict(secret_texts({"data": {"a": encoded(b"\xff"), "b": "größe", "c": "=", "d": None, "e": ""}}))
        == {}
    )
    assert dict(secret_texts({"data": ["a"], "stringData": "b"})) == {}
