"""What a cluster has to have before a region is applied: one finding for each requirement. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controller.domain.shared.plurals import count

_SHOWN_FIELDS = 3


class State(StrEnum):
    """Whether a requirement is met. `unknown`: the account may not read it."""

    OK = "ok"
    LACKS = "lacks"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Finding:
    """A requirement: what it is about, what was found, what is needed, and the command that helps."""

    what: str
    state: State
    found: str
    needed: str = ""
    remedy: str = ""


def version_finding(served: Mapping[str, Any], needed: tuple[int, int]) -> Finding:
    """Of the version of the API server, `{major: "1", minor: "33+", gitVersion: …}`."""
    numbers = re.findall(r"\d+", f"{served.get('major', '')}.{served.get('minor', '')}")
    least = f"{needed[0]}.{needed[1]} or newer"
    shown = str(served.get("gitVersion") or "no version")
    if len(numbers) < 2:
        return Finding("Kubernetes", State.UNKNOWN, shown, least, "kubectl version")
    if (int(numbers[0]), int(numbers[1])) >= needed:
        return Finding("Kubernetes", State.OK, shown, least)
    return Finding("Kubernetes", State.LACKS, shown, least, f"upgrade the cluster to Kubernetes {least}")


def definition_finding(shipped: Mapping[str, Any], live: Mapping[str, Any] | None, upgrade: str) -> Finding:
    """Of one of our definitions of resources: whether it is there, and has all fields of `shipped`."""
    kind = shipped["spec"]["names"]["kind"]
    what, needed = f"definition {kind}", "every field that this osctl knows"
    if live is None:
        return Finding(what, State.LACKS, "not in the cluster", needed, upgrade)
    there = set(_fields(live))
    lacking = sorted(one for one in set(_fields(shipped)) - there)
    # A field that is new as a whole stands for those below it.
    highest = [one for one in lacking if one.rpartition(".")[0] not in lacking]
    if not highest:
        return Finding(what, State.OK, "up to date", needed)
    names = ", ".join(highest[:_SHOWN_FIELDS])
    more = f" and {len(highest) - _SHOWN_FIELDS} more" if len(highest) > _SHOWN_FIELDS else ""
    return Finding(what, State.LACKS, f"older: lacks {names}{more}", needed, upgrade)


def _fields(definition: Mapping[str, Any]) -> Iterator[str]:
    """Paths of all fields of all versions."""
    for version in definition["spec"].get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        yield from _below(schema, "")


def _below(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    for name, one in (schema.get("properties") or {}).items():
        inner = f"{path}.{name}" if path else name
        yield inner
        yield from _below(one, inner)
    for key in ("items", "additionalProperties"):
        if isinstance(one := schema.get(key), Mapping):
            yield from _below(one, f"{path}[]")


def controller_finding(
    deployments: Iterable[Mapping[str, Any]], namespace: str, version: str, install: str
) -> Finding:
    """Of the controller for the region's `namespace`, among Deployments with its label."""
    needed = f"version {version}, for namespace {namespace}"
    own = [one for one in deployments if namespace in _served_namespaces(one)]
    if not own:
        return Finding("controller", State.LACKS, "not installed", needed, install)
    names = ", ".join(f"{one['metadata']['namespace']}/{one['metadata']['name']}" for one in own)
    if len(own) > 1:
        found = f"{count(len(own), 'Deployment')}: {names}"
        return Finding("controller", State.LACKS, found, needed, "helm uninstall all of them but one")
    meta, status = own[0]["metadata"], own[0].get("status") or {}
    runs = str((meta.get("labels") or {}).get("app.kubernetes.io/version") or "no version")
    found = f"{names}, {runs}"
    if not status.get("availableReplicas"):
        command = f"kubectl -n {meta['namespace']} describe deployment {meta['name']}"
        return Finding("controller", State.LACKS, f"{found}, no pod is available", needed, command)
    if runs != version:
        return Finding("controller", State.LACKS, found, needed, install)
    return Finding("controller", State.OK, found, needed)


def _served_namespaces(deployment: Mapping[str, Any]) -> set[str]:
    containers = deployment["spec"]["template"]["spec"].get("containers") or ()
    return {
        str(entry.get("value"))
        for container in containers
        for entry in container.get("env") or ()
        if entry.get("name") == "REGION_NAMESPACE"
    }
