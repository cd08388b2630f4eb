"""Dependencies of init containers: finished Jobs, Services with endpoints, DaemonSets, pods with a label.

The program is kubernetes-entrypoint, which reads them from variables. If an object is missing, the pod stays
in Init. Objects in other namespaces are not known here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

JOB, SERVICE, DAEMONSET, PODS = "Job", "Service", "DaemonSet", "pods"
WAITED = (JOB, SERVICE, DAEMONSET, PODS)
_NAMES = {"DEPENDENCY_JOBS": JOB, "DEPENDENCY_SERVICE": SERVICE, "DEPENDENCY_DAEMONSET": DAEMONSET}


def awaited(container: Mapping[str, Any], namespace: str) -> Iterator[tuple[str, str]]:
    """Kind and name of each thing that a container of a region in this namespace waits for; pods by labels,
    `application=nova,component=compute`."""
    for variable in container.get("env") or ():
        name, value = str(variable.get("name")), variable.get("value")
        if not isinstance(value, str) or not value:
            continue
        if name in _NAMES:
            for place in value.split(","):
                where, colon, what = place.strip().rpartition(":")
                if what and "." not in what and (not colon or not namespace or where == namespace):
                    yield _NAMES[name], what
        elif name in ("DEPENDENCY_JOBS_JSON", "DEPENDENCY_POD_JSON"):
            yield from _of_json(JOB if name.endswith("JOBS_JSON") else PODS, value, namespace)


def _of_json(kind: str, text: str, namespace: str) -> Iterator[tuple[str, str]]:
    try:
        found = json.loads(text)
    except ValueError:
        return
    for one in found if isinstance(found, list) else ():
        if not isinstance(one, Mapping) or str(one.get("namespace") or namespace) != namespace:
            continue
        labels = one.get("labels")
        if kind == PODS and isinstance(labels, Mapping) and labels:
            yield PODS, labels_text(labels)
        elif kind == JOB and one.get("name"):
            yield JOB, str(one["name"])


def labels_text(labels: Mapping[str, Any]) -> str:
    """`application=nova,component=compute`"""
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
