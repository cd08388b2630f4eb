"""The options by which a command chooses its cluster, declared once for many commands."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

from controller.cli.cluster import Cluster, open_cluster
from controller.cli.options import Context, Kubeconfig, Namespace

P = ParamSpec("P")

_OPTIONS = (
    Parameter("namespace", Parameter.KEYWORD_ONLY, default="", annotation=Namespace),
    Parameter("kubeconfig", Parameter.KEYWORD_ONLY, default=None, annotation=Kubeconfig),
    Parameter("context", Parameter.KEYWORD_ONLY, default="", annotation=Context),
)


def on_cluster(command: Callable[Concatenate[Cluster, P], None]) -> Callable[..., None]:
    """A command made from a function that takes the open cluster first. Its last options choose that."""

    @wraps(command)
    def opened(
        *given: Any, namespace: str = "", kubeconfig: Path | None = None, context: str = "", **options: Any
    ) -> None:
        command(open_cluster(kubeconfig, context, namespace), *given, **options)

    _, *own = signature(command, eval_str=True).parameters.values()
    described = signature(command).replace(parameters=[*own, *_OPTIONS])
    opened.__signature__ = described  # type: ignore[attr-defined]
    opened.__annotations__ = {one.name: one.annotation for one in described.parameters.values()}
    return opened
