"""What Kubernetes refuses of rendered objects: names, labels, ports, quantities, what is there twice.

The rules are those of the API server (k8s.io/apimachinery, util/validation) and of server-side apply, which
takes a key of a list that is a map once. Whatever a chart makes wrongly fails at each try of its release.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from controller.domain.shared.object_forms import is_label_value
from controller.domain.validation.cluster.asked_resources import parse_quantity

Object = Mapping[str, Any]

_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_DOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_SERVICE = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?")
_WORD = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_PORT_NAME = re.compile(r"(?=.*[a-z])[a-z0-9]+(?:-[a-z0-9]+)*")
_RBAC = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
_SELECTING = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")
# Longest name by kind: what is made of it is a label's value, of 63 letters at most.
# minute, hour, day of the month, month, day of the week
_FIELDS = 5
_LONGEST = {"Service": 63, "Job": 63, "CronJob": 52, "StatefulSet": 52, "Namespace": 63}
_MOST = 253
_PORTS = range(1, 65536)


def object_faults(obj: Object) -> Iterator[str]:
    """What Kubernetes refuses of the object, each as `Kind/name: …`."""
    kind, name = str(obj.get("kind")), str((obj.get("metadata") or {}).get("name"))
    for fault in dict.fromkeys(_faults(obj, kind, name)):
        yield f"{kind}/{name}: {fault}"


def all_faults(objects: Iterable[Object]) -> list[str]:
    """Those of all objects."""
    return [fault for obj in objects for fault in object_faults(obj)]


def _faults(obj: Object, kind: str, name: str) -> Iterator[str]:
    yield from _of_name(kind, name)
    yield from _of_metadata(obj.get("metadata") or {})
    yield from _of_selectors(obj)
    spec = obj.get("spec")
    if not isinstance(spec, Mapping):
        return
    if kind == "Service":
        yield from _of_service(spec)
    if kind == "CronJob":
        schedule = str(spec.get("schedule") or "")
        if not schedule.startswith("@") and len(schedule.split()) != _FIELDS:
            yield f"its schedule {schedule!r} does not have five fields, as in '0 */12 * * *'"
    if kind == "PersistentVolumeClaim":
        yield from _of_quantities(spec.get("resources") or {}, "its")
    for claim in spec.get("volumeClaimTemplates") or ():
        yield from _of_quantities((claim.get("spec") or {}).get("resources") or {}, "its claim's")
    template = _template(kind, spec)
    if template is None:
        return
    replicas = spec.get("replicas")
    if replicas is not None and (not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 0):
        yield f"replicas must be a whole number, not {replicas!r}"
    metadata, pod = template.get("metadata") or {}, template.get("spec") or {}
    yield from _of_metadata(metadata)
    if kind in _SELECTING:
        wanted = ((spec.get("selector") or {}).get("matchLabels")) or {}
        labels = metadata.get("labels") or {}
        if lacking := sorted(key for key, value in wanted.items() if labels.get(key) != value):
            yield f"the selector requires labels that the pods lack: {', '.join(lacking)}"
    yield from _of_pod(pod, {claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates") or ()})


def _template(kind: str, spec: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if kind == "Pod":
        return {"spec": spec}
    if kind == "CronJob":
        spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    template = spec.get("template")
    return (
        template if isinstance(template, Mapping) and "containers" in (template.get("spec") or {}) else None
    )


def _of_name(kind: str, name: str) -> Iterator[str]:
    longest = _LONGEST.get(kind, _MOST)
    if kind in _RBAC:
        if not name or "/" in name or "%" in name:
            yield "a name may not contain / or %"
        return
    shape = _SERVICE if kind == "Service" else _DOMAIN
    if not shape.fullmatch(name):
        parts = (
            "lower-case letters, digits and -" if kind == "Service" else "lower-case letters, digits, - and ."
        )
        yield f"a name may have {parts}, and must begin and end with a letter or digit"
    if len(name) > longest:
        yield f"the name has {len(name)} characters; at most {longest} are allowed"


def _of_metadata(metadata: Mapping[str, Any]) -> Iterator[str]:
    for key, value in (metadata.get("labels") or {}).items():
        yield from _of_key(key, "label")
        if not isinstance(value, str):
            yield f'label "{key}" has {value!r}, which is not a string'
        elif value and (len(value) > 63 or not _WORD.fullmatch(value)):
            yield f'label "{key}" has "{value}": at most 63 letters, digits, - _ .'
    for key, value in (metadata.get("annotations") or {}).items():
        yield from _of_key(key, "annotation")
        if value is not None and not isinstance(value, str):
            yield f'annotation "{key}" has {value!r}, which is not a string'


def _of_selectors(value: Any) -> Iterator[str]:
    """Selectors and tolerations, wherever in an object they are: labels and taints that nothing can have."""
    for key, part in value.items() if isinstance(value, Mapping) else ():
        if key == "matchLabels" and isinstance(part, Mapping):
            for name, text in part.items():
                yield from _of_key(name, "selector")
                if not isinstance(text, str) or not is_label_value(text):
                    yield f'selector "{name}" has {text!r}, which no label has'
        elif key == "tolerations" and isinstance(part, list):
            for one in (each for each in part if isinstance(each, Mapping)):
                if one.get("key"):
                    yield from _of_key(one["key"], "toleration")
                if not is_label_value(str(one.get("value") or "")):
                    yield f"a toleration has the value {one['value']!r}, which no taint has"
        else:
            yield from _of_selectors(part)
    for item in value if isinstance(value, list) else ():
        yield from _of_selectors(item)


def _of_key(key: object, what: str) -> Iterator[str]:
    prefix, slash, name = str(key).rpartition("/")
    good = len(name) <= 63 and _WORD.fullmatch(name)
    if not good or (slash and not _DOMAIN.fullmatch(prefix.lower())):
        yield f'{what} "{key}" has a key that Kubernetes does not accept'


def _of_service(spec: Mapping[str, Any]) -> Iterator[str]:
    ports = list(spec.get("ports") or ())
    for port in ports:
        yield from _of_port(port.get("port"), "port")
        target = port.get("targetPort")
        if isinstance(target, int):
            yield from _of_port(target, "targetPort")
        if port.get("nodePort") not in (None, 0):
            yield from _of_port(port.get("nodePort"), "nodePort")
        name = port.get("name")
        if name is not None and (len(str(name)) > 63 or not _LABEL.fullmatch(str(name))):
            yield f'port "{name}" has a name that Kubernetes does not accept'
        elif name is None and len(ports) > 1:
            yield f"port {port.get('port')} has no name, which is required if there are several"
    yield from _twice((port.get("name") for port in ports), "port")
    pairs = (f"{port.get('port')}/{port.get('protocol') or 'TCP'}" for port in ports)
    yield from _twice(pairs, "port")


def _of_port(port: object, what: str) -> Iterator[str]:
    if not isinstance(port, int) or isinstance(port, bool) or port not in _PORTS:
        yield f"{what} {port!r} is not a number from 1 to 65535"


def _of_pod(pod: Mapping[str, Any], claims: set[str]) -> Iterator[str]:
    containers = [*(pod.get("initContainers") or ()), *(pod.get("containers") or ())]
    yield from _twice((one.get("name") for one in containers), "container")
    volumes = list(pod.get("volumes") or ())
    yield from _twice((one.get("name") for one in volumes), "volume")
    for volume in volumes:
        if not _LABEL.fullmatch(str(volume.get("name"))) or len(str(volume.get("name"))) > 63:
            yield f'volume "{volume.get("name")}" has a name that Kubernetes does not accept'
        if len(kinds := sorted(set(volume) - {"name"})) > 1:
            yield f'volume "{volume.get("name")}" is of several kinds: {", ".join(kinds)}'
    for key, value in (pod.get("nodeSelector") or {}).items():
        yield from _of_key(key, "node selector")
        if not isinstance(value, str):
            yield f'node selector "{key}" has {value!r}, which is not a string'
    for container in containers:
        yield from _of_container(container)


def _of_container(container: Mapping[str, Any]) -> Iterator[str]:
    name = str(container.get("name"))
    if not _LABEL.fullmatch(name) or len(name) > 63:
        yield f'container "{name}" has a name that Kubernetes does not accept'
    variables = list(container.get("env") or ())
    yield from _twice((one.get("name") for one in variables), f"variable of container {name}")
    for one in variables:
        value = one.get("value")
        if value is not None and not isinstance(value, str):
            yield f"variable {one.get('name')} of container {name} has {value!r}, which is not a string"
    mounts = (one.get("mountPath") for one in container.get("volumeMounts") or ())
    yield from _twice(mounts, f"mount of container {name}")
    ports = list(container.get("ports") or ())
    for port in ports:
        yield from _of_port(port.get("containerPort"), f"port of container {name}:")
        called = port.get("name")
        if called is not None and (len(str(called)) > 15 or not _PORT_NAME.fullmatch(str(called))):
            yield (
                f'port "{called}" of container {name} has a name of more than 15 characters, or with '
                "special characters"
            )
    pairs = (f"{port.get('containerPort')}/{port.get('protocol') or 'TCP'}" for port in ports)
    yield from _twice(pairs, f"port of container {name}")
    yield from _twice((port.get("name") for port in ports), f"port of container {name}")
    yield from _of_quantities(container.get("resources") or {}, f"container {name}'s")


def _of_quantities(resources: Mapping[str, Any], whose: str) -> Iterator[str]:
    read: dict[str, dict[str, Any]] = {"requests": {}, "limits": {}}
    for part, found in read.items():
        for resource, quantity in (resources.get(part) or {}).items():
            try:
                found[resource] = parse_quantity(quantity)
            except ValueError:
                yield f'{whose} {part} have {resource} "{quantity}", which is not a quantity'
    for resource, least in read["requests"].items():
        most = read["limits"].get(resource)
        if most is not None and least > most:
            yield f"{whose} request of {resource} is above its limit"


def _twice(names: Iterable[object], what: str) -> Iterator[str]:
    for name, times in Counter(one for one in names if one is not None).items():
        if times > 1:
            yield f"{what} {name} occurs {times} times"
