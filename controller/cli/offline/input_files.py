"""Reads the objects that a person gives: files, directories, and stdin, with the line of every field."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from controller.domain.api.object_meta import a
from controller.domain.values.chart_values import DocumentPath, parse_path
from controller.domain.values.source_lines import nearest_line
from controller.domain.values.yaml_reader import MAX_CHARACTERS, read_documents
from controller.errors import Problem, SpecInvalid

STDIN = "-"
SUFFIXES = (".yaml", ".yml", ".json")
_MOST_OCTETS = 4 * (MAX_CHARACTERS + 1)


@dataclass(frozen=True)
class InputObject:
    """One Kubernetes object of a file. `lines` has the line of each path of the object, `line` its first."""

    obj: dict[str, Any]
    source: str
    lines: Mapping[DocumentPath, int] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return str(self.obj.get("kind") or "")

    @property
    def name(self) -> str:
        metadata = self.obj.get("metadata")
        return str(metadata.get("name") or "") if isinstance(metadata, dict) else ""

    @property
    def title(self) -> str:
        """`OpenStackDeployment/region-one`."""
        return f"{self.kind}/{self.name}"

    @property
    def line(self) -> int:
        return min(self.lines.values(), default=1)

    def locate(self, problem: Problem) -> Problem:
        """The problem with the file and line of its path, or of the nearest existing field above it."""
        if problem.source:
            return problem
        try:
            path = parse_path(problem.path.removeprefix("$").removeprefix("."))
        except ValueError:
            path = ()
        line = nearest_line(self.lines, path) or self.line
        return replace(problem, source=f"{self.source}:{line}")

    def locate_all(self, problems: Iterable[Problem]) -> list[Problem]:
        """The problems with their lines, in the order in which the file is read."""
        return sorted(map(self.locate, problems), key=_line_of)


def _line_of(problem: Problem) -> int:
    number = problem.source.rpartition(":")[2]
    return int(number) if number.isdecimal() else 0


def read_objects(names: Sequence[str], *, recursive: bool = False) -> tuple[InputObject, ...]:
    """All objects of the files, directories and stdin (`-`), in order; Lists are expanded.

    Raises SpecInvalid with the mistakes of all files, or if there is no object at all.
    """
    problems: list[Problem] = []
    found: list[InputObject] = []
    for name in names:
        for source, text in _texts(name, recursive, problems):
            try:
                documents = read_documents(text, source)
            except SpecInvalid as error:
                problems += error.problems
                continue
            for document in documents:
                found += _objects(InputObject(document.value, source, document.lines), problems)
    if not found and not problems:
        problems.append(Problem("$", f"no object in {', '.join(names) or 'no file'}", "", ""))
    if problems:
        raise SpecInvalid(problems)
    return tuple(found)


def _texts(name: str, recursive: bool, problems: list[Problem]) -> Iterator[tuple[str, str]]:
    """Name and text of each file meant by one name."""
    if name == STDIN:
        yield from _text("stdin", sys.stdin.buffer.read(_MOST_OCTETS), problems)
        return
    path = Path(name)
    if path.is_dir():
        files = sorted(_files(path, recursive))
        if not files:
            problems.append(Problem("$", f"no {', '.join(SUFFIXES)} in the directory", "", name))
    else:
        files = [path]
    for file in files:
        try:
            with file.open("rb") as opened:
                content = opened.read(_MOST_OCTETS)
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            problems.append(Problem("$", f"cannot be read: {reason}", "", str(file)))
        else:
            yield from _text(str(file), content, problems)


def _text(name: str, content: bytes, problems: list[Problem]) -> Iterator[tuple[str, str]]:
    """The text as UTF-8, whatever the locale, like kubectl. Truncated at the limit."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        yield name, decoder.decode(content, final=len(content) < _MOST_OCTETS)
    except UnicodeDecodeError as error:
        problems.append(Problem("$", f"not UTF-8 at byte {error.start}", "save it as UTF-8", name))


def _files(directory: Path, recursive: bool) -> Iterable[Path]:
    entries = directory.rglob("*") if recursive else directory.iterdir()
    # kustomize's own file in a directory is not an object.
    return (
        entry
        for entry in entries
        if entry.suffix in SUFFIXES and entry.is_file() and entry.stem != "kustomization"
    )


def _objects(item: InputObject, problems: list[Problem]) -> list[InputObject]:
    """The object, or those of a List."""
    obj: Any = item.obj
    if not isinstance(obj, dict):
        problems.append(
            item.locate(Problem("$", f"expected an object with apiVersion and kind, got {a(obj)}"))
        )
        return []
    if (
        isinstance(obj.get("kind"), str)
        and obj["kind"].endswith("List")
        and isinstance(obj.get("items"), list)
    ):
        result = []
        for index, one in enumerate(obj["items"]):
            root: DocumentPath = ("items", index)
            lines = {path[2:]: line for path, line in item.lines.items() if path[:2] == root and path[2:]}
            result += _objects(InputObject(one, item.source, lines), problems)
        return result
    for key in ("apiVersion", "kind"):
        if not isinstance(obj.get(key), str) or not obj[key]:
            problems.append(item.locate(Problem(key, "required, and not set")))
            return []
    return [item]
