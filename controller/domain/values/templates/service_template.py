"""Service templates: Jinja in a sandbox, whose output is always YAML that says what was meant.

Every `{{ … }}` is written as JSON, which YAML reads back unchanged: a value from an operator can be
`no`, `#x` or `a: b` without becoming something else, and it cannot add keys of its own. For the same
reason an expression is never put inside quotes or glued to text: `{{ a ~ "." ~ b }}`.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jinja2
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from jinja2.sandbox import ImmutableSandboxedEnvironment

from controller.domain.values.chart_values import DocumentPath
from controller.domain.values.layer import Layer
from controller.domain.values.rules.service_rules import TemplateRefusal
from controller.domain.values.yaml_reader import read_documents
from controller.errors import Problem, SpecInvalid

DEFECT = "this is a defect of the template, please report it"
# Marks the line of the template that a line of output came from; cannot come from a value, because
# JSON escapes control characters.
_MARK = "\x01"
_MARKS = re.compile(f"{_MARK}(\\d+){_MARK}")
# What YAML readers refuse or read as a line break, though JSON allows it.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


@dataclass(frozen=True)
class RenderedTemplate:
    """`value` is what the YAML of the template `name` holds; `lines` has template lines by path.

    Both are only to be read: who renders the same again gets the same.
    """

    name: str
    value: Any
    lines: Mapping[DocumentPath, int]


class ServiceTemplates:
    """Compiles each template once. Safe to use from several threads."""

    def __init__(self) -> None:
        self._environment = ImmutableSandboxedEnvironment(
            undefined=jinja2.StrictUndefined,
            finalize=to_json,
            extensions=["jinja2.ext.do", _LineMarks],
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        self._compiled: dict[str, jinja2.Template] = {}

    def render(self, name: str, text: str, context: Mapping[str, Any]) -> RenderedTemplate:
        """Renders and reads one template. `name` is its file as people find it.

        Raises SpecInvalid: a template that refuses the input gives the path of the input; a template
        that is broken, or uses what the context lacks, gives its own file and line.
        """
        try:
            template = self._compiled.get(text)
            if template is None:
                template = self._compiled[text] = self._environment.from_string(text)
            output = template.render(context)
        except TemplateRefusal as refusal:
            raise SpecInvalid([refusal.problem]) from None
        except jinja2.TemplateSyntaxError as error:
            raise SpecInvalid([_defect(name, error.lineno, error.message or "syntax error")]) from error
        except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise SpecInvalid([_defect(name, _failing_line(error), str(error))]) from error
        return _read(name, output)

    def layer(self, name: str, file: str, text: str, context: Mapping[str, Any]) -> Layer:
        """The layer of a template that is rendered for each release. Raises as `render`."""
        rendered = self.render(f"values/{file}.yaml.j2", text, context)
        return Layer(name, rendered.value or {}, rendered.name, (), rendered.lines)


def to_json(value: Any) -> str:
    """A value as JSON text that YAML reads back as the same value, on one line."""
    if isinstance(value, jinja2.Undefined):
        value._fail_with_undefined_error()
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_as_json_type)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _as_json_type(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable):
        return list(value)
    raise TypeError(f"a template writes a {type(value).__name__}, which is not a value")


class _LineMarks(Extension):
    """Puts the number of the template's line before each line, and each part of a line, of plain text."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        for token in stream:
            if token.type == "data":
                numbered = enumerate(token.value.split("\n"), token.lineno)
                marked = "\n".join(f"{_MARK}{line}{_MARK}{text}" if text else "" for line, text in numbered)
                yield Token(token.lineno, token.type, marked)
            else:
                yield token


@functools.lru_cache(maxsize=256)  # an edit of a region changes what few of its templates write
def _read(name: str, output: str) -> RenderedTemplate:
    origin: list[int] = []
    current = 1
    text: list[str] = []
    for line in output.split("\n"):
        marks = _MARKS.findall(line)
        plain = _MARKS.sub("", line)
        if marks:
            current = int(marks[0])
        origin.append(current)
        text.append(plain)
    try:
        documents = read_documents("\n".join(text), name)
    except SpecInvalid as error:
        raise SpecInvalid([_at_template_line(problem, name, origin) for problem in error.problems]) from error
    if not documents:
        return RenderedTemplate(name, {}, {})
    lines = {path: origin[line - 1] for path, line in documents[0].lines.items() if line <= len(origin)}
    return RenderedTemplate(name, documents[0].value, lines)


def _at_template_line(problem: Problem, name: str, origin: list[int]) -> Problem:
    line = int(problem.source.rpartition(":")[2] or 1)
    return _defect(name, origin[min(line, len(origin)) - 1], f"{problem.path}: {problem.message}")


def template_defect(message: str, place: str) -> Problem:
    """What is wrong with a template itself, and not with the operator's input; `place` is `file:line`."""
    return Problem("$", f"template: {message}", DEFECT, place)


def _defect(name: str, line: int, message: str) -> Problem:
    return template_defect(message, f"{name}:{line}")


def _failing_line(error: BaseException) -> int:
    """The template's line of an error, as Jinja rewrites tracebacks to show it."""
    line, traceback = 1, error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == "<template>":
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line
