#!/usr/bin/env -S python3 -I -S
"""kubernetes-entrypoint: waits until what a pod depends on is there, then ends, or becomes the pod's command.

Our own implementation of what OpenStack-Helm's init containers ask for, by environment variables:

    NAMESPACE, POD_NAME           of this pod; a dependency without a namespace of its own is in this one
    DEPENDENCY_SERVICE            ns:name,name: each has a ready address
    DEPENDENCY_JOBS               ns:name,name: each has succeeded
    DEPENDENCY_JOBS_JSON          [{"namespace", "name"} or {"namespace", "labels"}]: all of those that match
    DEPENDENCY_POD_JSON           [{"namespace", "labels", "requireSameNode"}]: of each, one pod is ready
    DEPENDENCY_DAEMONSET          ns:name,name: the pod of each on this node is ready
    DEPENDENCY_CONTAINER          names of containers of this pod that are to be ready
    DEPENDENCY_SOCKET             files that are to be there
    DEPENDENCY_CUSTOM_RESOURCE    [{"apiVersion", "kind", "namespace", "name", "fields": [{"key", "value"}]}]
    COMMAND                       what to become then

One line tells of each change. SIGTERM ends it at once. It uses Python's own library only.
"""

import http.client
import json
import os
import pathlib
import shlex
import signal
import ssl
import sys
import time
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

ACCOUNT = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")
PAUSE_SECONDS = 2.0
REQUEST_SECONDS = 10.0
TERMINATED = 128 + signal.SIGTERM


@dataclass(frozen=True)
class Wanted:
    """One thing to wait for: its kind, its name or what selects it, and the namespace it is in."""

    kind: str
    namespace: str
    name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    same_node: bool = False
    api_version: str = ""
    fields: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        selected = ",".join(f"{key}={value}" for key, value in sorted(self.labels.items()))
        return f"{self.kind} {self.namespace}/{self.name or selected}"


class NotThere(Exception):
    """What is waited for is not there yet; the text says what was seen."""


Get = Callable[[str], dict[str, Any]]
"""What the API server has at a path. Raises NotThere."""


# -- what is wanted -------------------------------------------------------------------------------------


def parse_wanted(environment: Mapping[str, str]) -> list[Wanted]:
    """Everything to wait for. Raises ValueError, KeyError or TypeError on what has no such form."""
    here = environment.get("NAMESPACE") or "default"
    found = []
    for variable, kind in (
        ("DEPENDENCY_SERVICE", "service"),
        ("DEPENDENCY_JOBS", "job"),
        ("DEPENDENCY_DAEMONSET", "daemonset"),
    ):
        for text in _listed(environment.get(variable, "")):
            namespace, colon, name = text.rpartition(":")
            found.append(Wanted(kind, namespace if colon else here, name))
    for variable, kind in (("DEPENDENCY_CONTAINER", "container"), ("DEPENDENCY_SOCKET", "socket")):
        found += [Wanted(kind, here, name) for name in _listed(environment.get(variable, ""))]
    for one in _json_list(environment.get("DEPENDENCY_JOBS_JSON", "")):
        found.append(_selected("job", one, here))
    for one in _json_list(environment.get("DEPENDENCY_POD_JSON", "")):
        found.append(_selected("pod", one, here))
    for one in _json_list(environment.get("DEPENDENCY_CUSTOM_RESOURCE", "")):
        fields = tuple((str(each["key"]), str(each["value"])) for each in one.get("fields") or ())
        found.append(
            Wanted(
                one["kind"],
                one.get("namespace") or here,
                one["name"],
                api_version=one["apiVersion"],
                fields=fields,
            )
        )
    return found


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _json_list(text: str) -> list[dict[str, Any]]:
    return list(json.loads(text) or ()) if text.strip() else []


def _selected(kind: str, one: Mapping[str, Any], here: str) -> Wanted:
    return Wanted(
        kind,
        one.get("namespace") or here,
        one.get("name") or "",
        labels=dict(one.get("labels") or {}),
        same_node=bool(one.get("requireSameNode")),
    )


# -- whether it is there --------------------------------------------------------------------------------


def check(wanted: Wanted, get: Get, pod_name: str, here: str) -> None:
    """Returns when it is there. Raises NotThere with what was seen."""
    match wanted.kind:
        case "service":
            _check_service(wanted, get)
        case "job":
            _check_jobs(wanted, get)
        case "pod":
            node = _node_of(get, here, pod_name) if wanted.same_node else ""
            _check_pods(_pods(wanted, get, wanted.labels), node)
        case "daemonset":
            path = f"/apis/apps/v1/namespaces/{wanted.namespace}/daemonsets/{wanted.name}"
            labels = get(path)["spec"]["selector"].get("matchLabels") or {}
            _check_pods(_pods(wanted, get, labels), _node_of(get, here, pod_name))
        case "container":
            _check_container(wanted, get(_pod_path(here, pod_name)))
        case "socket":
            if not pathlib.Path(wanted.name).exists():
                raise NotThere("no such file")
        case _:
            _check_fields(wanted, get(_resource_path(wanted)))


def _check_service(wanted: Wanted, get: Get) -> None:
    endpoints = get(f"/api/v1/namespaces/{wanted.namespace}/endpoints/{wanted.name}")
    if not any(subset.get("addresses") for subset in endpoints.get("subsets") or ()):
        raise NotThere("no address of it is ready")


def _check_jobs(wanted: Wanted, get: Get) -> None:
    path = f"/apis/batch/v1/namespaces/{wanted.namespace}/jobs"
    jobs = [get(f"{path}/{wanted.name}")] if wanted.name else get(_query(path, wanted.labels))["items"]
    if not jobs:
        raise NotThere("there is none")
    for job in jobs:
        if not (job.get("status") or {}).get("succeeded"):
            raise NotThere(f"{job['metadata']['name']} has not succeeded")


def _pods(wanted: Wanted, get: Get, labels: Mapping[str, str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = get(_query(f"/api/v1/namespaces/{wanted.namespace}/pods", labels))["items"]
    return found


def _check_pods(pods: list[dict[str, Any]], node: str) -> None:
    """One of them is ready; with `node`, one on that node."""
    near = [pod for pod in pods if not node or pod["spec"].get("nodeName") == node]
    for pod in near:
        conditions = (pod.get("status") or {}).get("conditions") or ()
        if any(one["type"] == "Ready" and one["status"] == "True" for one in conditions):
            return
    raise NotThere(f"{len(near)} pods{' on this node' if node else ''}, and none is ready")


def _check_container(wanted: Wanted, pod: Mapping[str, Any]) -> None:
    for status in (pod.get("status") or {}).get("containerStatuses") or ():
        if status["name"] == wanted.name and status.get("ready"):
            return
    raise NotThere("it is not ready")


def _check_fields(wanted: Wanted, resource: Mapping[str, Any]) -> None:
    for key, value in wanted.fields:
        seen: Any = resource
        for part in key.split("."):
            seen = seen.get(part) if isinstance(seen, Mapping) else None
        if _as_text(seen) != value:
            raise NotThere(f"{key} is {_as_text(seen)!r}, not {value!r}")


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _node_of(get: Get, here: str, pod_name: str) -> str:
    return str(get(_pod_path(here, pod_name))["spec"].get("nodeName") or "")


def _pod_path(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def _resource_path(wanted: Wanted) -> str:
    prefix = "/apis" if "/" in wanted.api_version else "/api"
    kind = wanted.kind.lower()
    plural = kind[:-1] + "ies" if kind.endswith("y") else kind + "s"
    return f"{prefix}/{wanted.api_version}/namespaces/{wanted.namespace}/{plural}/{wanted.name}"


def _query(path: str, labels: Mapping[str, str]) -> str:
    selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    return f"{path}?{urllib.parse.urlencode({'labelSelector': selector})}"


# -- waiting --------------------------------------------------------------------------------------------


def first_missing(wanted: list[Wanted], get: Get, pod_name: str, here: str) -> tuple[int, str]:
    """How many from the first on are there, and what was seen of the one after them."""
    for number, one in enumerate(wanted):
        try:
            check(one, get, pod_name, here)
        except NotThere as missing:
            return number, str(missing)
    return len(wanted), ""


def wait(
    wanted: list[Wanted],
    get: Get,
    pod_name: str,
    here: str,
    *,
    pause: Callable[[float], None] = time.sleep,
    tell: Callable[[str], None] = lambda text: print(text, flush=True),
) -> None:
    """Until each was there at least once, one after the other; what was there is not asked for again.

    Many pods wait at once while a region is installed, and each question costs the API server something.
    """
    waiting = list(wanted)
    told = ""
    while True:
        count, text = first_missing(waiting, get, pod_name, here)
        for one in waiting[:count]:
            tell(f"{one} is there")
        waiting = waiting[count:]
        if not waiting:
            return
        if told != (told := f"waiting for {waiting[0]}: {text}"):
            tell(told)
        pause(PAUSE_SECONDS)


def api_get(environment: Mapping[str, str], account: pathlib.Path = ACCOUNT) -> Get:
    """Asks the API server as the pod's ServiceAccount, on one connection; its token is read each time."""
    connection = http.client.HTTPSConnection(
        environment["KUBERNETES_SERVICE_HOST"],
        int(environment.get("KUBERNETES_SERVICE_PORT", "443")),
        timeout=REQUEST_SECONDS,
        context=ssl.create_default_context(cafile=str(account / "ca.crt")),
    )

    def get(path: str) -> dict[str, Any]:
        token = (account / "token").read_text()
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise NotThere(f"the API server does not answer: {error!r}") from error
        if answer.status >= http.client.BAD_REQUEST:
            raise NotThere(f"the API server says {answer.status} {answer.reason}")
        found: dict[str, Any] = json.loads(body)
        return found

    return get


def main() -> None:
    """Waits, and becomes COMMAND if there is one."""
    # Process 1 of a container ignores what it has no handler for.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(TERMINATED))
    try:
        wanted = parse_wanted(os.environ)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        sys.exit(f"a DEPENDENCY variable has not the form that is expected: {error!r}")
    if wanted:
        here = os.environ.get("NAMESPACE") or "default"
        wait(wanted, api_get(os.environ), os.environ.get("POD_NAME", ""), here)
    command = shlex.split(os.environ.get("COMMAND", ""))
    if command:
        os.execvp(command[0], command)


if __name__ == "__main__":
    main()
