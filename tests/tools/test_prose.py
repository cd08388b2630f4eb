"""tools/prose.py counts what a person reads as sentences, and finds words that the pages avoid."""

from __future__ import annotations

import pytest

from tools.prose import check, figures_of, forbidden_in, sentences_of

LONG = " ".join(["word"] * 40) + "."
SHORT = " ".join(["Word"] * 8) + "."


def test_sentences_of_paragraphs_and_items_are_counted_apart() -> None:
    page = "# A title\n\nOne here. Two, e.g. that\ngoes on.\n\n- three\n- `four.five` is it. Five\n"
    assert sentences_of(page)[:3] == ["One here.", "Two, e.g that goes on.", "three"]
    assert len(sentences_of(page)) == 5


def test_tables_and_code_are_not_counted() -> None:
    page = f"| a | b |\n|---|---|\n| c | {LONG} |\n\n```\n{LONG}\n```\n\n    {LONG}\n\nOne `{LONG}` word.\n"
    assert [figures_of([one]).mean for one in sentences_of(page)] == [3]


@pytest.mark.parametrize("word", ["somebody", "Nobody", "told", "lets in", "for ever"])
def test_words_are_found_in_tables_and_with_their_line(word: str) -> None:
    assert forbidden_in(f"# Title\n\nText.\n\n| a |\n|---|\n| {word} |\n") == [(7, word)]


def test_words_in_code_are_left_alone() -> None:
    assert forbidden_in("`told`\n\n    nobody\n") == []


def test_a_page_of_long_sentences_is_refused_with_them() -> None:
    found = check({"a.md": LONG, "b.md": SHORT * 30})
    assert any(one.startswith("a.md: long: word word") for one in found)


def test_pages_that_pass_each_are_also_counted_together() -> None:
    page = " ".join(["Word"] * 17) + "."
    assert [one.partition(":")[0] for one in check({"a.md": page, "b.md": page})] == ["all pages together"]
    assert check({"a.md": page, "b.md": SHORT}) == []
