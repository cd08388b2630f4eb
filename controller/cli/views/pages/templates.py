"""The templates of pages and drawings. Every text is escaped, and has no control characters."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import jinja2

from controller.cli.output import soft_wrapped

_HERE = "controller.cli.views.pages"


def filled(template: str, /, **values: Any) -> str:
    """The template of that name with these values."""
    return _environment().get_template(template).render(**values)


def sheet(*names: str) -> str:
    """Style sheets of ours, one after the other."""
    return "".join(_read(name) for name in names)


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _read(name: str) -> str:
    return files(_HERE).joinpath(name).read_text(encoding="utf-8")


def _shown(value: Any) -> Any:
    """What a template prints. The results of its own macros are left as they are."""
    return soft_wrapped(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
