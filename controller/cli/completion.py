"""Names that a shell completes: contexts, namespaces, regions, services, releases, bundles and nodes.

A shell waits for the answer, so nothing is reported: without an answer within seconds there are no names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from threading import Thread
from typing import Any

import typer

from controller.cli.cluster import Cluster, context_names, open_cluster
from controller.cli.targets import releases_of
from controller.cli.views.log_lines import CONTAINERS
from controller.domain.api.names import SERVICE_LABEL
from controller.errors import ControllerError
from controller.ports.kubernetes import HELMBUNDLE, OSDPL

_WITHIN = 3.0
Names = Callable[[Cluster], Iterable[str]]


def _regions(cluster: Cluster) -> Iterable[str]:
    return (one["metadata"]["name"] for one in cluster.kube.list(OSDPL, cluster.namespace or None))


def _namespaces(cluster: Cluster) -> Iterable[str]:
    """Those with a region: others need not be readable."""
    return (one["metadata"]["namespace"] for one in cluster.kube.list(OSDPL))


def _region_paths(cluster: Cluster) -> Iterable[str]:
    return (f"{one['metadata']['namespace']}/{one['metadata']['name']}" for one in cluster.kube.list(OSDPL))


def _bundles(cluster: Cluster) -> Iterable[str]:
    return (one["metadata"]["name"] for one in cluster.kube.list(HELMBUNDLE, cluster.namespace or None))


def _releases(cluster: Cluster) -> Iterable[str]:
    return (
        name for one in cluster.kube.list(HELMBUNDLE, cluster.namespace or None) for name in releases_of(one)
    )


def _services(cluster: Cluster) -> Iterable[str]:
    listed = cluster.kube.list(HELMBUNDLE, cluster.namespace or None)
    labels = ((one["metadata"].get("labels") or {}).get(SERVICE_LABEL) for one in listed)
    return (label for label in labels if label)


def _nodes(cluster: Cluster) -> Iterable[str]:
    return (
        name
        for one in cluster.kube.list(OSDPL, cluster.namespace or None)
        for name in (one.get("status") or {}).get("nodes") or {}
    )


def _log_targets(cluster: Cluster) -> Iterable[str]:
    return (*CONTAINERS, *_services(cluster), *_releases(cluster))


# By the names of parameters; those of a command come before those of all.
_OF_COMMANDS: Mapping[tuple[str, str], Names] = {
    ("logs", "target"): _log_targets,
    ("smoke", "service"): _services,
    ("rotate", "service"): _services,
}
_OF_ALL: Mapping[str, Names] = {
    "release": _releases,
    "releases": _releases,
    "bundles": _bundles,
    "node": _nodes,
    "namespace": _namespaces,
    "region": _region_paths,
}
# Commands whose parameter `name`, or `region`, is the name of a region alone.
_NAME_OF_REGION = frozenset(
    {"status", "report", "graph", "events", "gather", "wait", "plan", "approve", "smoke"}
)


def complete_names(command: Any) -> Any:
    """Gives the parameters of a command, or of a group's commands, the names that they may have."""
    for one in getattr(command, "commands", {}).values():
        complete_names(one)
    for parameter in command.params:
        names = _names_for(str(command.name), parameter)
        if parameter.name in ("context", "contexts"):
            parameter._custom_shell_complete = _contexts
        elif names is not None:
            parameter._custom_shell_complete = _completing(names)
    return command


def _names_for(command: str, parameter: Any) -> Names | None:
    name = str(parameter.name)
    if (command, name) in _OF_COMMANDS:
        return _OF_COMMANDS[command, name]
    if parameter.param_type_name == "argument" and (
        name == "region" or (name == "name" and command in _NAME_OF_REGION)
    ):
        return _regions
    return _OF_ALL.get(name)


# As click calls it, with the parameter in between.
Completion = Callable[[typer.Context, Any, str], list[str]]


def _completing(names: Names) -> Completion:
    def complete(ctx: typer.Context, _: Any, incomplete: str) -> list[str]:
        given = ctx.params

        def observe() -> list[str]:
            context = given.get("context") or next(iter(given.get("contexts") or ()), "")
            cluster = open_cluster(_path(given), context, given.get("namespace") or "")
            return sorted({str(name) for name in names(cluster)})

        found: list[str] = []
        # The process does not wait for it when it ends.
        reader = Thread(target=lambda: found.extend(_quietly(observe)), daemon=True)
        reader.start()
        reader.join(_WITHIN)
        return _items(list(found), incomplete)

    return complete


def _quietly(observe: Callable[[], list[str]]) -> list[str]:
    try:
        return observe()
    except ControllerError:
        return []


def _contexts(ctx: typer.Context, _: Any, incomplete: str) -> list[str]:
    try:
        return _items(context_names(_path(ctx.params)), incomplete)
    except ControllerError:
        return []


def _path(given: Mapping[str, Any]) -> Path | None:
    return Path(given["kubeconfig"]) if given.get("kubeconfig") else None


def _items(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
