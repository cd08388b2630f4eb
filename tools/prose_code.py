"""Counts the words a sentence has in docstrings and in descriptions of the API, and finds words to avoid.

The words are looked for in docstrings, comments and texts of Python, and in everything that charts and values
say beside their data. A method whose name begins with `observe` may call nothing that writes.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from tools.prose import ABBREVIATION, CODE, END, FORBIDDEN, ROOT, WORD, Figures, figures_of

PYTHON = ("controller", "containers", "sandbox", "tools", "helm")
YAML = ("charts", "values", "helm", "sandbox")
# They hold the words to avoid themselves.
LEFT_OUT = frozenset({"tools/prose.py", "tools/prose_code.py"})

MOST_WORDS_IN_THE_MEAN = 16.5

# Words that only code had.
AVOIDED = re.compile(
    FORBIDDEN.pattern + r"|\b(?:not even where|that of the \w+ which|of which nothing|is nothing of)\b",
    re.IGNORECASE,
)
_WRITES = re.compile(
    r"^_?(?:patch|apply|create|replace|delete|ensure|write|store|evict|emit|annotate|take_up)(?:_|$)"
)
_QUOTED = re.compile(r"``[^`]+``|`[^`]+`|\{[^{}]*\}")

# Line and text.
Text = tuple[int, str]


def docstrings_of(tree: ast.AST) -> list[Text]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            assert isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            found.append((first.lineno, str(first.value.value)))
    return found


def strings_of(tree: ast.AST) -> list[Text]:
    """Docstrings too; of an f-string its fixed parts."""
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
    ]


def comments_of(source: str) -> list[Text]:
    """Comments on lines that follow each other are one text."""
    found: list[Text] = []
    last = -1
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        line, text = token.start[0], token.string.lstrip("#: ")
        if line == last + 1:
            found[-1] = (found[-1][0], f"{found[-1][1]}\n{text}")
        else:
            found.append((line, text))
        last = line
    return found


def descriptions_of(definition: Any) -> Iterator[str]:
    """Every `description` and every message of a rule in a CustomResourceDefinition."""
    if isinstance(definition, list):
        for one in definition:
            yield from descriptions_of(one)
    elif isinstance(definition, dict):
        for key, value in definition.items():
            if key in {"description", "message"} and isinstance(value, str):
                yield value
            else:
                yield from descriptions_of(value)


def words_in(texts: Sequence[Text]) -> list[Text]:
    """Line and word of each one that a text should do without."""
    found = set()
    for line, text in texts:
        for one in AVOIDED.finditer(_QUOTED.sub(CODE, text)):
            found.add((line, one[0]))
    return sorted(found)


def sentences_of(text: str) -> list[str]:
    """Paragraphs and list items apart, as in the pages."""
    found = []
    for part in re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) ", text):
        plain = ABBREVIATION.sub(lambda one: one[0][:-1], " ".join(_QUOTED.sub(CODE, part).split()))
        found += [one for one in END.split(plain) if WORD.search(one)]
    return found


def writers_in(tree: ast.AST) -> list[Text]:
    """Functions named `observe…` that call something that writes."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and re.match(r"_?observe(?:_|$)", node.name):
            for call in ast.walk(node):
                called = call.func if isinstance(call, ast.Call) else None
                if isinstance(called, ast.Attribute) and _WRITES.match(called.attr):
                    found.append((called.lineno, f"{node.name} calls {called.attr}"))
    return found


def _files(folders: Sequence[str], *endings: str) -> Iterator[tuple[str, Path]]:
    for folder in folders:
        for ending in endings:
            for path in sorted((ROOT / folder).rglob(f"*{ending}")):
                name = str(path.relative_to(ROOT))
                if path.is_file() and name not in LEFT_OUT:
                    yield name, path


def check() -> tuple[list[str], dict[str, Figures]]:
    """Everything found, and the figures."""
    found = []
    docstrings, descriptions = [], []
    for name, path in _files(PYTHON, ".py"):
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source)
        words = words_in([*strings_of(tree), *comments_of(source)])
        found += [f"{name}:{line}: '{word}'" for line, word in words]
        found += [f"{name}:{line}: {what}" for line, what in writers_in(tree)]
        docstrings += [one for _, text in docstrings_of(tree) for one in sentences_of(text)]
    for name, path in _files(YAML, ".yaml", ".yml", ".tpl", ".txt", ".j2", ".json"):
        lines = path.read_text(encoding="utf-8").splitlines()
        found += [f"{name}:{line}: '{word}'" for line, word in words_in(list(enumerate(lines, 1)))]
    for path in sorted((ROOT / "charts/openstack-controller/files/crds").glob("*.yaml")):
        for text in descriptions_of(yaml.safe_load(path.read_text(encoding="utf-8"))):
            descriptions += sentences_of(text)
    return found, {"docstrings": figures_of(docstrings), "descriptions of the API": figures_of(descriptions)}


def main(words: Sequence[str]) -> int:
    found, figures = check()
    if "--figures" in words:
        for what, one in figures.items():
            print(f"{what:50} {one}")
        print(f"{'words to avoid, and observers that write':50} {len(found)}")
        return 0
    found += [f"{what}: {one}" for what, one in figures.items() if one.mean > MOST_WORDS_IN_THE_MEAN]
    print("\n".join(found) or "plain")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
