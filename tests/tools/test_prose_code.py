"""tools/prose_code.py finds words that texts of code avoid, and observers that write."""

from __future__ import annotations

import ast

import pytest

from tools.prose_code import (
    comments_of,
    descriptions_of,
    docstrings_of,
    sentences_of,
    strings_of,
    words_in,
    writers_in,
)

SOURCE = '''
def one(name):
    """Short. Another sentence here."""
    # nobody reads
    # this comment
    return f"{told} was told by {name}"
'''


def test_words_are_found_in_comments_and_texts_but_not_in_names() -> None:
    tree = ast.parse(SOURCE)
    assert words_in(comments_of(SOURCE)) == [(4, "nobody")]
    assert words_in(strings_of(tree)) == [(6, "told")]


@pytest.mark.parametrize("text", ["`told` is a name", "``nobody``", "{told} passes"])
def test_names_in_quotes_are_left_alone(text: str) -> None:
    assert words_in([(1, text)]) == []


def test_docstrings_and_descriptions_are_counted_by_sentence() -> None:
    [(_, text)] = docstrings_of(ast.parse(SOURCE))
    assert sentences_of(text) == ["Short.", "Another sentence here."]
    definition = {"spec": [{"description": "One. Two.", "title": "no"}, {"message": "Three."}]}
    assert list(descriptions_of(definition)) == ["One. Two.", "Three."]


@pytest.mark.parametrize(
    ("body", "writes"),
    [("self.kube.patch(1)", True), ("self.kube.get(1)", False), ("store.ensure_it()", True)],
)
def test_an_observer_that_writes_is_found(body: str, writes: bool) -> None:
    tree = ast.parse(f"class A:\n    def observe_it(self):\n        {body}\n")
    assert bool(writers_in(tree)) == writes


def test_any_other_function_may_write() -> None:
    assert writers_in(ast.parse("def ensure_it(kube):\n    kube.patch(1)\n")) == []
