"""Reading YAML: lines for every key, and nothing that hides a mistake or exhausts memory."""

from __future__ import annotations

import json
import time

import pytest

from controller.domain.values.yaml_reader import MAX_DEPTH, read_documents
from controller.errors import Problem, SpecInvalid


def refusal(text: str) -> Problem:
    with pytest.raises(SpecInvalid) as refused:
        read_documents(text, "region.yaml")
    [problem] = refused.value.problems
    return problem


def test_every_key_and_item_has_its_line() -> None:
    [document] = read_documents("a:\n  b: 1\n  c:\n    - x\n    - {d: y}\n", "region.yaml")
    assert document.lines == {
        ("a",): 1,
        ("a", "b"): 2,
        ("a", "c"): 3,
        ("a", "c", 0): 4,
        ("a", "c", 1): 5,
        ("a", "c", 1, "d"): 5,
    }


def test_documents_are_split_and_empty_ones_left_out() -> None:
    documents = read_documents("---\na: 1\n---\n---\n# nothing\n---\nb: 2\n...\n", "region.yaml")
    assert [document.value for document in documents] == [{"a": 1}, {"b": 2}]


def test_a_key_that_is_there_twice_is_refused_with_both_lines() -> None:
    problem = refusal("a:\n  b: 1\n  c: 2\n  b: 3\n")
    assert problem.source == "region.yaml:4"
    assert problem.message == 'key "b" occurs twice (first in line 2)'


def test_two_spellings_of_one_key_are_the_same_key() -> None:
    assert "twice" in refusal("a: {yes: 1, on: 2}\n").message


def test_the_same_key_in_two_maps_is_no_duplicate() -> None:
    [document] = read_documents("a: {b: 1}\nc: {b: 2}\n", "region.yaml")
    assert document.value == {"a": {"b": 1}, "c": {"b": 2}}


def test_merge_keys_give_way_to_written_keys() -> None:
    [document] = read_documents("a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  b: 3\n", "region.yaml")
    assert document.value["d"] == {"b": 3, "c": 2}


def test_a_merge_key_takes_several_maps_and_maps_written_there() -> None:
    text = "a: &a {k: 1}\nb: &b {k: 2, m: 3}\nc: {<<: [*a, *b, {j: 4}]}\nd: {<<: {k: 5}, o: {<<: *a}}\n"
    [document] = read_documents(text, "region.yaml")
    assert document.value["c"] == {"k": 1, "m": 3, "j": 4}
    assert document.value["d"] == {"k": 5, "o": {"k": 1}}


def test_a_key_written_before_a_merge_key_that_has_it_too_is_refused() -> None:
    problem = refusal("a: &x {b: 1}\nc:\n  b: 2\n  <<: *x\n")
    assert (problem.path, problem.source) == ("c", "region.yaml:4")
    assert problem.message == 'key "b" is written before <<, which also has it'


def test_a_number_with_thousands_of_digits_is_a_text_as_for_kubectl() -> None:
    [document] = read_documents(f"a: {'9' * 5000}\nb: -{'9' * 5000}\n", "region.yaml")
    assert document.value == {"a": "9" * 5000, "b": "-" + "9" * 5000}


def test_objects_of_json_are_read_one_after_the_other_with_their_lines() -> None:
    first, second = read_documents('{"a": "\\ud83d\\ude00",\n"b": 1}\n{"c": "\\ud83d"}', "region.json")
    assert (first.value, second.value) == ({"a": "😀", "b": 1}, {"c": "\ufffd"})
    assert (first.lines[("b",)], second.lines[("c",)]) == (2, 3)


@pytest.mark.parametrize(
    "text",
    [
        '"\\\\ud83d\\ude00"',
        '"a\u2028b"',
        '"a\x7fb"',
        '"\\\\\\ud83d\\ude00"',
        '"\\u00e9\\n\\/"',
        '"\\\\u0041"',
    ],
)
def test_texts_of_json_are_what_json_says(text: str) -> None:
    [document] = read_documents('{"a": ' + text + "}", "region.json")
    assert document.value["a"] == json.loads(text).replace("\ude00", "\ufffd")


@pytest.mark.parametrize(
    "text",
    [
        "a: [1\n",
        "\ta: 1\n",
        "a: *x\n",
        "a: &x [*x]\n",
        "a: !custom 1\n",
        "a: !!python/object:os.system x\n",
        "a: .nan\n",
        "? [1]\n: 2\n",
        "? {a: 1}\n: 2\n",
        "~: 1\n",
        "a: {<<: 1}\n",
        "a: {<<: [1]}\n",
        "a: {<<: [[{b: 1}]]}\n",
        "a: &x [{b: 1}]\nc: {<<: *x}\n",
        "a: &x {b: 1}\nc: {b: 2, <<: *x}\n",
        '{"a": 1}{',
        "a: \x00\n",
        "a: \ud800\n",
        "%YAML 9.9\n---\na: 1\n",
        "a: !!int x\n",
        "'a\n",
    ],
)
def test_what_cannot_be_read_is_refused_with_file_and_line(text: str) -> None:
    problem = refusal(text)
    assert problem.source.startswith("region.yaml:")
    assert problem.message


def test_deep_nesting_is_refused() -> None:
    assert "deeper" in refusal("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)).message
    indented = "".join(" " * depth + "a:\n" for depth in range(1500))
    assert "deeper" in refusal(indented).message


@pytest.mark.slow
def test_aliases_that_multiply_are_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    started = time.process_time()
    assert "aliases counted" in refusal("\n".join(lines)).message
    assert time.process_time() - started < 2


def test_a_file_that_is_too_large_is_refused() -> None:
    assert "larger" in refusal("a: " + "x" * 5_000_000).message


def test_the_text_of_other_tools_is_read() -> None:
    [document] = read_documents('{"a": "\\ud83d\\ude00", "b": [1, 2.5, true, null]}', "x")
    assert document.value == {"a": "😀", "b": [1, 2.5, True, None]}
