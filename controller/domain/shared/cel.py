"""Expressions in CEL, the language of the rules in Kubernetes' resource definitions. Pure."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Mapping
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

from controller.errors import ControllerError

if TYPE_CHECKING:
    from cel import Program


class CelError(ControllerError):
    """An expression cannot be read, or has no value for what it is given."""


class Expression:
    """One expression, read once. Made by `expression`."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._program: Program = _engine().compile(text)
        except (ValueError, TypeError, RuntimeError) as error:
            raise CelError(f"{text!r} is no expression: {error}") from error

    def value(self, variables: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]) -> Any:
        """What it is worth with these variables and functions, beside those of CEL. Raises CelError."""
        try:
            return self._program.execute(_engine().Context(dict(variables), dict(functions)))
        except (ValueError, TypeError, RuntimeError, LookupError, OverflowError) as error:
            raise CelError(f"{self.text!r} has no value: {error}") from error

    @property
    def variables(self) -> frozenset[str]:
        """The variables that it names, with those of its own macros."""
        return frozenset(self._program.variables())

    @property
    def functions(self) -> frozenset[str]:
        """The functions that it calls, those of CEL too, without operators."""
        return frozenset(name for name in self._program.functions() if name.isidentifier())


@functools.cache
def expression(text: str) -> Expression:
    """The expression. Raises CelError."""
    return Expression(text)


@functools.cache
def _engine() -> Any:
    """The compiled part of the package alone. The package itself imports its command line, which would take
    15 MB of memory in each container."""
    package = importlib.util.find_spec("cel")
    found = PathFinder.find_spec("cel.cel", package.submodule_search_locations) if package else None
    if found is None or found.loader is None:
        raise CelError("the package common-expression-language is not installed")
    engine = importlib.util.module_from_spec(found)
    found.loader.exec_module(engine)
    return engine
