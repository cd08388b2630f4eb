"""What a region in production must not have, looked for in the objects that Helm makes of it."""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

Object = Mapping[str, Any]

# What decides by majority: two of its pods on one node are lost together.
MAJORITIES = ("mariadb-server", "rabbitmq-rabbitmq", "ovn-ovsdb-nb", "ovn-ovsdb-sb")
# Containers whose memory grows with the servers and networks of their node, by workload: killed for it,
# they would take servers or their traffic along.
UNLIMITED = ("libvirt", "openvswitch", "ovn-controller", "neutron-")
_LITERAL = re.compile(r"\$\{[A-Z][A-Z_]*_(?:HOST|PORT)\}")
_SCRIPTS = (".sh", ".py")


def pod_specs(objects: Iterable[Object]) -> Iterator[tuple[Object, Mapping[str, Any]]]:
    """Every object that makes pods, with the spec of these."""
    for obj in objects:
        spec = obj.get("spec") or {}
        if obj["kind"] == "CronJob":
            spec = spec["jobTemplate"]["spec"]
        if obj["kind"] == "Pod":
            yield obj, spec
        elif "template" in spec and "containers" in (spec["template"].get("spec") or {}):
            yield obj, spec["template"]["spec"]


def may_run_on(spec: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a pod may be on a node with these labels, as its selector and its required affinity say.

    Only the operators In and NotIn, which charts use; a label that is missing is none of any values."""
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = required.get("nodeSelectorTerms") or [{}]
    selected = all(labels.get(key) == value for key, value in (spec.get("nodeSelector") or {}).items())
    return selected and any(
        all(
            (labels.get(one["key"]) in one["values"]) == {"In": True, "NotIn": False}[one["operator"]]
            for one in term.get("matchExpressions") or ()
        )
        for term in terms
    )


def _title(obj: Object) -> str:
    return f"{obj['kind']} {obj['metadata']['name']}"


def without_resources(objects: Iterable[Object], known: Collection[str] = ()) -> list[str]:
    """Containers that ask for no CPU or memory, and those that may take all memory of their node.

    `known`: containers whose chart reads no figure for them."""
    found = []
    for obj, spec in pod_specs(objects):
        may_grow = obj["kind"] == "DaemonSet" and obj["metadata"]["name"].startswith(UNLIMITED)
        for container in spec["containers"]:
            resources = container.get("resources") or {}
            requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
            title = f"{_title(obj)}: {container['name']}"
            if container["name"] in known:
                continue
            if not {"cpu", "memory"} <= requests.keys():
                found.append(f"{title} asks for nothing")
            elif "memory" not in limits and not may_grow:
                found.append(f"{title} has no limit of memory")
            if None in (*requests.values(), *limits.values()):
                found.append(f"{title} has an empty figure")
    return found


def majorities_that_may_meet(objects: Iterable[Object]) -> list[str]:
    """Workloads that decide by majority, of which two pods may be on one node."""
    found = []
    for obj, spec in pod_specs(objects):
        if obj["kind"] != "StatefulSet" or not obj["metadata"]["name"].endswith(MAJORITIES):
            continue
        apart = (spec.get("affinity") or {}).get("podAntiAffinity") or {}
        if obj["spec"].get("replicas", 1) > 1 and not apart.get(
            "requiredDuringSchedulingIgnoredDuringExecution"
        ):
            found.append(_title(obj))
    return found


def floating_images(objects: Iterable[Object]) -> list[str]:
    """Images that are another thing tomorrow under the same name."""
    found = set()
    for _, spec in pod_specs(objects):
        for container in (*spec.get("initContainers", ()), *spec["containers"]):
            image = container["image"]
            tag = image.rpartition("/")[2].partition(":")[2]
            if "@sha256:" not in image and (not tag or tag.startswith("latest")):
                found.add(image)
    return sorted(found)


def listeners_on_hosts(objects: Iterable[Object]) -> list[str]:
    """Ports that containers take on every address of their node, past all NetworkPolicies."""
    return [
        f"{_title(obj)}: {container['name']} {port['containerPort']}"
        for obj, spec in pod_specs(objects)
        for container in spec["containers"]
        for port in container.get("ports") or ()
        if spec.get("hostNetwork") or port.get("hostPort")
    ]


def policies_that_deny_everybody(objects: Iterable[Object]) -> list[str]:
    """NetworkPolicies without a rule for a direction that they govern."""
    return [
        f"{_title(obj)}: {kind}"
        for obj in objects
        if obj["kind"] == "NetworkPolicy"
        for kind in obj["spec"].get("policyTypes", ["Ingress"])
        if not obj["spec"].get(kind.lower())
    ]


def literals(objects: Iterable[Object]) -> list[str]:
    """`${…}` of the environment in files that no shell reads: it goes out as it is."""
    found = []
    for obj in objects:
        for name, text in files(obj):
            if name.endswith(_SCRIPTS) or text.startswith("#!"):
                continue
            found += [f"{_title(obj)}: {name} {one}" for one in sorted(set(_LITERAL.findall(text)))]
    return found


def files(obj: Object) -> Iterator[tuple[str, str]]:
    """The files of a ConfigMap or a Secret; none of anything else."""
    if obj["kind"] not in ("ConfigMap", "Secret"):
        return
    yield from (obj.get("stringData") or {}).items()
    for name, text in (obj.get("data") or {}).items():
        if text is None:
            continue
        yield name, base64.b64decode(text).decode(errors="replace") if obj["kind"] == "Secret" else text


def unnamed_classes(objects: Iterable[Object], named: Collection[str | None]) -> list[str]:
    """Claims of a storage class that the region does not name."""
    claims = [(_title(obj), obj["spec"]) for obj in objects if obj["kind"] == "PersistentVolumeClaim"]
    claims += [
        (_title(obj), claim["spec"])
        for obj in objects
        if obj["kind"] == "StatefulSet"
        for claim in obj["spec"].get("volumeClaimTemplates") or ()
    ]
    for obj, spec in pod_specs(objects):
        claims += [
            (_title(obj), volume["ephemeral"]["volumeClaimTemplate"]["spec"])
            for volume in spec.get("volumes", ())
            if "ephemeral" in volume
        ]
    return [
        f"{title}: {spec.get('storageClassName')}"
        for title, spec in claims
        if spec.get("storageClassName") not in named
    ]


def open_hypervisors(objects: Iterable[Object]) -> list[str]:
    """What hypervisors let anyone in by, on the network of their nodes."""
    found = []
    for obj in objects:
        found_files = dict(files(obj))
        libvirt, qemu = found_files.get("libvirtd.conf", ""), found_files.get("qemu.conf", "")
        if (
            libvirt
            and re.search(r'^listen_tcp *= *"?1', libvirt, re.M)
            and re.search(r'^auth_tcp *= *"?none', libvirt, re.M)
        ):
            found.append(f"{_title(obj)}: libvirt listens without authentication")
        if qemu and not re.search(r'^vnc_tls *= *"?0*1', qemu, re.M):
            found.append(f"{_title(obj)}: consoles of servers without TLS")
    return found
