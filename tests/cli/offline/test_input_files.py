"""Reading what a person gives: files, directories, stdin."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from controller.cli.offline.input_files import InputObject, read_objects
from controller.errors import Problem, SpecInvalid

SECRET = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n"


def problem_of(*names: str) -> Problem:
    with pytest.raises(SpecInvalid) as caught:
        read_objects(names)
    (problem,) = caught.value.problems
    return problem


def test_every_document_of_a_file_is_an_object(tmp_path: Path):
    file = tmp_path / "two.yaml"
    file.write_text(SECRET + "---\n" + SECRET.replace("name: a", "name: b"))
    first, second = read_objects([str(file)])
    assert (first.title, second.title) == ("Secret/a", "Secret/b")
    assert second.lines[("metadata", "name")] == 9


def test_a_directory_gives_its_files_in_the_order_of_their_names(tmp_path: Path):
    for name in ("b.yaml", "a.yml", "c.json", "notes.txt", "kustomization.yaml"):
        content = '{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c.json"}}'
        (tmp_path / name).write_text(
            content if name == "c.json" else SECRET.replace("name: a", f"name: {name}")
        )
    assert [item.name for item in read_objects([str(tmp_path)])] == ["a.yml", "b.yaml", "c.json"]


def test_directories_below_are_read_only_when_asked(tmp_path: Path):
    (tmp_path / "top.yaml").write_text(SECRET)
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "b.yaml").write_text(SECRET)
    assert len(read_objects([str(tmp_path)])) == 1
    assert len(read_objects([str(tmp_path)], recursive=True)) == 2


def test_a_list_is_taken_apart_and_its_items_know_their_lines(tmp_path: Path):
    file = tmp_path / "list.yaml"
    file.write_text(
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: a\n"
    )
    (item,) = read_objects([str(file)])
    assert item.title == "Secret/a"
    assert item.lines[("metadata", "name")] == 7


def test_a_missing_file_is_a_problem_that_names_it():
    problem = problem_of("/nowhere/region.yaml")
    assert problem.source == "/nowhere/region.yaml"
    assert "No such file" in problem.message


def test_a_file_that_is_no_text_is_a_problem(tmp_path: Path):
    file = tmp_path / "image.yaml"
    file.write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in problem_of(str(file)).message


def test_an_empty_file_is_a_problem(tmp_path: Path):
    file = tmp_path / "empty.yaml"
    file.write_text("# nothing\n")
    assert "no object" in problem_of(str(file)).message


def test_an_empty_directory_is_a_problem(tmp_path: Path):
    assert "in the directory" in problem_of(str(tmp_path)).message


@pytest.mark.parametrize("text", ["- a\n- b\n", "just text\n", "kind: Secret\n", "apiVersion: v1\nkind: 3\n"])
def test_what_is_no_object_is_a_problem_with_its_line(tmp_path: Path, text: str):
    file = tmp_path / "x.yaml"
    file.write_text(text)
    assert problem_of(str(file)).source.startswith(f"{file}:")


def test_all_files_are_read_before_complaining(tmp_path: Path):
    with pytest.raises(SpecInvalid) as caught:
        read_objects([str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")])
    assert len(caught.value.problems) == 2


def test_a_problem_is_located_at_the_nearest_field_that_is_there():
    item = InputObject({}, "r.yaml", {("spec",): 3, ("spec", "services"): 7})
    found = item.locate(Problem("spec.services.compute.nova", "wrong"))
    assert found.source == "r.yaml:7"


def test_a_problem_that_knows_its_place_keeps_it():
    item = InputObject({}, "r.yaml", {("spec",): 3})
    assert item.locate(Problem("spec", "wrong", source="values/x.yaml:1")).source == "values/x.yaml:1"


def test_stdin_that_is_no_utf_8_is_said_to_be_none(monkeypatch: pytest.MonkeyPatch):
    octets = io.BytesIO(b"a: 1\nb: \xff\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(octets, encoding="utf-8", errors="surrogateescape"))
    problem = problem_of("-")
    assert (problem.source, problem.message) == ("stdin", "not UTF-8 at byte 8")
